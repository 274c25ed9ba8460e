"""The options of bsub (LSF 10.1 and its family): their values, and which of them affect a start.

Source: the synopsis of bsub in the command reference of LSF 10.1, for CORAL systems too.
"""

from __future__ import annotations

#: Options with a value that do not affect where and when a job starts.
QUIET_VALUES = frozenset(
    {
        *("-alloc_flags", "-C", "-core_isolation", "-cwd", "-csm", "-D", "-datagrp", "-E"),
        *("-Ep", "-e", "-env", "-eo", "-eptl", "-F", "-f", "-freq", "-i", "-is", "-Jd"),
        *(
            "-jsm",
            "-k",
            "-L",
            "-M",
            "-mig",
            "-notify",
            "-o",
            "-oo",
            "-outdir",
            "-p",
            "-ptl",
            "-Q",
        ),
        *(
            "-rcacct",
            "-rnc",
            "-S",
            "-s",
            "-smt",
            "-stage",
            "-step_cgroup",
            "-T",
            "-u",
            "-v",
            "-wa",
            "-wt",
        ),
    }
)
#: Options without a value that do not affect where and when a job starts.
QUIET_FLAGS = frozenset(
    {
        *(
            "-B",
            "-datachk",
            "-hl",
            "-I",
            "-IS",
            "-ISp",
            "-ISs",
            "-IX",
            "-Ip",
            "-Is",
            "-K",
            "-N",
            "-Ne",
        ),
        *("-r", "-rn", "-tty", "-ul", "-XF", "-Zs"),
    }
)
#: Options that are ignored, each with a reason of its own for the message.
NOTED = {"-a": "what its esub changes in the request is not known"}
#: Options that may change a start and that no method obeys, in words.
UNHEEDED = {
    "-data": "waiting for data (-data)",
    "-network": "networks (-network)",
    "-jobaff": "affinity between jobs (-jobaff)",
    "-clusters": "other clusters (-clusters)",
    "-hostfile": "a file of hosts (-hostfile)",
    "-cn_cu": "compute units of compute nodes (-cn_cu)",
    "-cn_mem": "memory of compute nodes (-cn_mem)",
    "-ln_mem": "memory of launch nodes (-ln_mem)",
    "-ln_slots": "slots of launch nodes (-ln_slots)",
    "-jsdl": "a file of job terms (-jsdl)",
    "-jsdl_strict": "a file of job terms (-jsdl_strict)",
    "-json": "a file of job terms (-json)",
    "-yaml": "a file of job terms (-yaml)",
}
#: Options with a time of day, in words; they are ignored if the date is unknown.
WITHOUT_DATE = {
    "-b": "the earliest start (-b), as the instance has no 'origin' that gives the time of day",
    "-t": "the latest end (-t), as the instance has no 'origin' that gives the time of day",
}
REFUSED = {
    "-H": "a held job has no start to plan: leave -H out",
    "-pack": "give the lines of the pack file one by one",
}
#: Names of other schedulers, by the first word of their directives in a script.
OTHER_SCRIPTS = {"#SBATCH": "Slurm", "#PBS": "PBS", "#$": "Grid Engine", "#COBALT": "Cobalt"}
#: Long spellings of other programs, and the option of bsub for each. bsub itself reads an unknown
#: word as an option of one letter and its value: ``-queue`` is ``-q ueue``.
WRITTEN_OUT = {
    "-queue": "-q",
    "-partition": "-q",
    "-output": "-o",
    "-error": "-e",
    "-input": "-i",
    "-name": "-J",
    "-jobname": "-J",
    "-job-name": "-J",
    "-project": "-P",
    "-account": "-P",
    "-machine": "-m",
    "-machines": "-m",
    "-host": "-m",
    "-hosts": "-m",
    "-nodelist": "-m",
    "-ntasks": "-n",
    "-nprocs": "-n",
    "-np": "-n",
    "-time": "-W",
    "-walltime": "-W",
    "-wall": "-W",
    "-mem": "-M, or -R rusage[mem=…]",
    "-memory": "-M, or -R rusage[mem=…]",
    "-resources": "-R",
    "-resource": "-R",
    "-nodes": "-n and -R span[ptile=…], or -nnodes",
    "-dependency": "-w",
    "-depend": "-w",
    "-exclusive": "-x",
    "-priority": "-sp",
    "-gpus": "-gpu num=…",
    "-application": "-app",
    "-group": "-G",
}
