"""The state of an LSF cluster as its commands print it and its logs record it, as instances.

``values`` reads single values, ``bjobs``, ``bhosts``, ``bqueues`` and ``share_tables`` one command
each (JSON or text), ``assemble`` makes an instance of what they saw; ``events`` follows lsb.events,
``moment`` cuts a moment out of a log.
"""
