"""What comes from outside: logs of finished jobs and the state that a scheduler's commands print.

``registry`` names the file formats that every command reads; ``swf``, ``acct`` and ``trace`` read
logs; ``lsf_state`` is what LSF's commands print and its event log says. LSF's configuration and
bsub lines stay in ``formats``: our own document includes them.
"""
