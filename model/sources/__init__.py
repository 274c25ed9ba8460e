"""External sources: logs of finished jobs and the state that a scheduler's commands print.

``registry`` names the file formats that every command reads; ``swf``, ``acct`` and ``trace`` read
logs; ``lsf_state`` reads the output of LSF's commands and its event log. LSF's configuration and
bsub lines stay in ``formats``, because instance files include them.
"""
