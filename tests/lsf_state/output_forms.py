"""Every form of output of LSF's commands and files, with what becomes of it.

The page docs/output-forms.md shows these rows; `test_output_forms.py` gives each text to the
command and looks at what comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DATA = Path(__file__).parents[1] / "data"
ALL, LSF, NEW, LAVA = "all", "LSF 9.1, 10.1", "LSF 10.1", "OpenLava, volclava"


@dataclass(frozen=True, slots=True)
class Form:
    """One row. option: the command or its option that takes it. says: in the page.

    shows: what is in the instance (read) or the messages (reported, rejected). text: a path for
    the log itself, several files for a configuration directory. beside: another option and what it
    is given.
    """

    form: str
    versions: str
    option: str
    outcome: Literal["read", "reported", "rejected"]
    says: str
    shows: tuple[str, ...]
    text: str | Path | dict[str, str]
    beside: tuple[str, str] = ("", "")

    @property
    def row(self) -> str:
        """The line of the table in the page."""
        return f"| {self.form} | {self.versions} | `{self.option}` | {self.outcome} | {self.says} |"


def jobs(*lines: str) -> str:
    """The text of these lines."""
    return "\n".join(lines) + "\n"


_HEAD = "Job <7>, User <ann>, Project <p>, Status <PEND>, Queue <q>, Job Priority <50>, Command <x>"
_ASKS = "Submitted from host <h>, CWD <$HOME>, 4 Task(s), Requested Resources <span[ptile=2]>;"
_LONG = jobs(
    "",
    "Job <7>, User <ann>, Project <p>, Status <PEND>, Queue <q>, Job Priority <50>,",
    "                      Command <x>",
    "Fri Apr 22 15:18:50: Submitted from host <h>, CWD <$HOME>, 4 Task(s), Requested",
    "                      Resources <span[ptile=2]>;",
    " PENDING REASONS:",
    " Job slot limit reached: 1 host;",
    "",
    " RUNLIMIT",
    " 60.0 min",
)
_YEAR = jobs(
    "",
    "Job <7>, User <ann>, Project <p>, Status <PEND>, Queue <q>, Job Priority <50>,",
    " " * 27 + "Command <x>",
    "Fri Apr 22 15:18:50 2022: Submitted from host <h>, CWD <$HOME>, 4 Task(s), Requ",
    " " * 26 + "ested Resources <span[ptile=2]>;",
)
_READ_LONG = ("slots: 4", "span[ptile=2]", "user: ann", "priority: 50", "{name: q, EXCLUSIVE: Y}")
_TABLE = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME"
_LINE = "7       ann     PEND  q          h           -           x          Apr 22 15:18"
_USE_LONG = "bjobs -u all -l, -UF or -json"
_WANTED = "`bjobs -u all -l`, `-UF` or `-json -o`"
_JSON_JOB = (
    '"JOBID":"7","STAT":"PEND","USER":"ann","QUEUE":"q","NREQ_SLOT":"4",'
    '"COMBINED_RESREQ":"span[ptile=2]","RUNTIMELIMIT":"60.0","SUBMIT_TIME":"Apr 22 15:18",'
    '"JOB_PRIORITY":"50","SPECIFIED_START_TIME":"-","ASK_HOSTS":"","DEPENDENCY":"-"'
)
_RUNS = jobs(
    "Job <8>, User <ann>, Project <p>, Status <RUN>, Queue <q>, Command <x>",
    "Fri Apr 22 15:18:50: Submitted from host <h>, CWD <$HOME>, 2 Task(s);",
    "Fri Apr 22 15:19:50: Started 2 Task(s) on Host(s) <2*h2>, Execution Home </x>;",
)
BJOBS = (
    Form("`bjobs`", ALL, "snapshot --bjobs", "rejected", f"use {_WANTED}",
         (_USE_LONG,), jobs(_TABLE, _LINE)),
    Form("`bjobs -w`, `-W`, `-X`, `-r`, `-a`", ALL, "snapshot --bjobs", "rejected",
         f"use {_WANTED}", (_USE_LONG,), jobs(" ".join(_TABLE.split()), " ".join(_LINE.split()))),
    Form("`bjobs -p`", ALL, "snapshot --bjobs", "rejected", f"use {_WANTED}",
         (_USE_LONG,), jobs("JOBID   USER    STAT  QUEUE      FROM_HOST      JOB_NAME           "
                            "SUBMIT_TIME", "7       ann     PEND  q   h  x  Apr 22 15:18",
                            " Job slot limit reached;")),
    Form("`bjobs -l`, `-l -X`, `-l -p`", LSF, "snapshot --bjobs", "read",
         "state, queue, user, slots, requirement, limits, times, hosts, reasons, estimate; "
         "wrapped at any column", (*_READ_LONG, "run_limit: 1h"), _LONG),
    Form("`bjobs -l` with LSB_BJOBS_DISPLAY_YEAR", NEW, "snapshot --bjobs", "read",
         "the same; the indentation is taken from the file", _READ_LONG, _YEAR),
    Form("`bjobs -l` with other clauses (`Network`, `Data Requirements`, …)", ALL,
         "snapshot --bjobs", "reported", "the names of the clauses, and the number of jobs that "
         "have them",
         ("Network",),
         _LONG.replace("Queue <q>,", "Queue <q>, Network <gold>,")),
    Form("`bjobs -l`", LAVA, "snapshot --bjobs", "read",
         "as in LSF, with the older words (`Processors Requested`, `Started on`)",
         ("2*a 1*b",),
         jobs("Job <8>, User <ann>, Project <p>, Status <RUN>, Queue <q>, Command <x>",
              "Fri Apr 22 15:18:50: Submitted from host <h>, CWD <$HOME>, 3 Processors Requested;",
              "Fri Apr 22 15:19:50: Started on 3 Hosts/Processors <a> <a> <b>, Execution Home </x>;"
              )),
    Form("`bjobs -UF`", LSF, "snapshot --bjobs", "read", "as `-l`, not wrapped",
         _READ_LONG, jobs(_HEAD, f"Fri Apr 22 15:18:50: {_ASKS}")),
    Form("`bjobs -o '…'` without `-json`", LSF, "snapshot --bjobs", "rejected",
         f"use {_WANTED}", (_USE_LONG,), jobs("JOBID      STAT  QUEUE", "7  PEND  q")),
    Form("`bjobs -o \"… delimiter=','\"`, `-noheader`", LSF, "snapshot --bjobs", "rejected",
         f"use {_WANTED}", (_USE_LONG,), jobs("JOBID,STAT,QUEUE", "7,PEND,q")),
    Form("`bjobs -json -o '…'`", NEW, "snapshot --bjobs", "read",
         "the columns of [snapshot](import.md#the-state-snapshot)", _READ_LONG,
         '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{' + _JSON_JOB + "}]}"),
    Form("`bjobs -json -o '…'`, columns missing", NEW, "snapshot --bjobs", "reported",
         "the missing columns, and the number of pending jobs",
         ("has no column queue, user, combined_resreq, runtimelimit", "1 pending job"),
         '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"7","STAT":"PEND","NREQ_SLOT":"4"}]}'),
    Form("`No unfinished job found`", ALL, "snapshot --bjobs", "read", "no job",
         ("name: h1",), "No unfinished job found\n"),
    Form("`bjobs -l` without `-u all`", ALL, "snapshot --bjobs", "reported",
         "slots that bhosts or bqueues count but no job has",
         ("bjobs without -u all?",), _LONG,
         ("--bhosts", jobs("HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV",
                            "h1 ok - 8 1 1 0 0 0"))),
    Form("`bjobs -A`", ALL, "snapshot --bjobs", "rejected",
         "alone it only counts elements of arrays (with other forms, their limits are read): use "
         f"{_WANTED}", (_USE_LONG,),
         jobs("JOBID      ARRAY_SPEC  OWNER   NJOBS PEND DONE  RUN EXIT SSUSP USUSP PSUSP",
              "7          x[1-4]      ann         4    4    0    0    0     0     0     0")),
    Form("`bjobs -sum`", NEW, "snapshot --bjobs", "rejected",
         f"counts of jobs: use {_WANTED}", ("output of bjobs -sum", _USE_LONG),
         jobs("RUN        SSUSP      USUSP      UNKNOWN    PEND       FWD_PEND",
              "1          0          0          0          3          0")),
)  # fmt: skip

_HOSTS = jobs(
    "HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV",
    "h1                 ok              -      8      2      2      0      0      0",
)
_BLOCK = jobs(
    "HOST  h1",
    "STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW",
    "ok              20.00     -      8      2      2      0      0      0      -",
    "",
    " CURRENT LOAD USED FOR SCHEDULING:",
    "              r15s   r1m  r15m    ut    pg    io   ls    it   tmp   swp   mem",
    " Total         1.5   1.2   2.0   91%   2.5     7   49     0  911M  915M    2G",
    " Reserved      0.0   0.0   0.0    0%   0.0     0    0     0    0M    0M  143M",
)
BHOSTS = (
    Form("`bhosts`", ALL, "snapshot --bhosts", "read",
         "slots, slots in use, status, JL/U", ("name: h1", "slots: 8"), _HOSTS),
    Form("`bhosts`, a host `closed`", ALL, "snapshot --bhosts", "reported",
         "`closed` has no reason here: full if all slots are in use, else closed by the "
         "administrator",
         ("bhosts gives no reason for closed",),
         _HOSTS.replace("ok    ", "closed")),
    Form("`bhosts`, a truncated name (`*3.site.org`)", LAVA, "snapshot --bhosts", "rejected",
         "use `bhosts -w` or `-l`", ("bhosts -w or bhosts -l",), _HOSTS.replace("h1 ", "*1 ")),
    Form("`bhosts -w`, `-X`, `-e`, `-R …`", LSF, "snapshot --bhosts", "read",
         "the same, with the reason why a host is closed", ("status: closed",),
         _HOSTS.replace("ok        ", "closed_Adm")),
    Form("`bhosts` with condensed groups (CONDENSE)", LSF, "snapshot --bhosts", "reported",
         "the group counts as one host; hosts of jobs that bhosts does not list are reported, as "
         "are "
         "slots in use that no job has: use `bhosts -X`",
         ("jobs run on h2, which no input describes", "contradicts itself: bhosts counts 2 slots"),
         _HOSTS.replace("h1 ", "hg1"), ("--bjobs", _RUNS)),
    Form("`bhosts -l`", ALL, "snapshot --bhosts", "read",
         "also load, reservations of load by jobs, thresholds, windows", ("mem: 2191",), _BLOCK),
    Form("`bhosts -s`", ALL, "snapshot --bhosts", "read",
         "shared resources and their hosts: in addition to `bhosts`, `-l` or `-json`",
         ("shared_resources:", "name: lic, amount: 4"),
         jobs("RESOURCE                 TOTAL       RESERVED       LOCATION",
              "lic                        3           1.0         h1"),
         ("--bhosts", _BLOCK)),
    Form("`bhosts -gpu`", NEW, "snapshot --bhosts", "read",
         "GPUs of hosts: in addition to `bhosts`, `-l` or `-json`", ("gpus:", "model: "
         "TeslaV100_PCIE"),
         jobs("HOST_NAME              GPU_ID                MODEL     MUSED      MRSV  NJOBS",
              "h1                          0     TeslaV100_PCIE        0M        0M      0"),
         ("--bhosts", _BLOCK)),
    Form("`bhosts -gpu -l`", NEW, "snapshot --bhosts", "read",
         "the same, and the memory of each GPU", ("count: 2", "mem: 16G"),
         jobs("HOST: h1", "NGPUS NGPUS_SHARED_AVAIL NGPUS_EXCLUSIVE_AVAIL",
              "2     2                  2", "", "STATIC ATTRIBUTES",
              "GPU_ID MODEL     MTOTAL FACTOR SOCKET VENDOR",
              "0      TeslaV100 16G    7.0    0      Nvidia",
              "1      TeslaV100 16G    7.0    0      Nvidia", "", "DYNAMIC ATTRIBUTES",
              "GPU_ID MODE   MUSED MRSV TEMP ECC UT MUT PSTATE STATUS ERROR",
              "0      SHARED 0M    0M   52C  0   0% 0%  0      ok     -",
              "1      SHARED 0M    0M   52C  0   0% 0%  0      ok     -"),
         ("--bhosts", _BLOCK)),
    Form("`lshosts -gpu`", NEW, "snapshot --bhosts", "read",
         "GPUs of hosts: in addition to `bhosts`", ("model: TeslaV100",),
         jobs("HOST_NAME   gpu_id       gpu_model   gpu_driver   gpu_factor      numa_id",
              "h1               0  TeslaV100       418.67         7.0            0"),
         ("--bhosts", _BLOCK)),
    Form("`lsload -gpu`, `-gpuload`", NEW, "snapshot --bhosts", "read",
         "GPUs of hosts: in addition to `bhosts`", ("gpus: 4",),
         jobs("HOST_NAME    status  ngpus gpu_shared_avg_mut gpu_shared_avg_ut ngpus_physical",
              "h1               ok      4                 0%                0%              4"),
         ("--bhosts", _BLOCK)),
    Form("`bhosts -json -o '…'`", NEW, "snapshot --bhosts", "read",
         "`host_name status max` are needed; also `run ssusp ususp rsv jl_u cpuf available_mem …`",
         ("slots: 8",),
         '{"COMMAND":"bhosts","HOSTS":1,"RECORDS":[{"HOST_NAME":"h1","STATUS":"ok","MAX":"8",'
         '"RUN":"2","SSUSP":"0","USUSP":"0","RSV":"0"}]}'),
    Form("`bhosts -json` without `status` or `max` (also `-gpu -json`)", NEW,
         "snapshot --bhosts", "rejected", "give the columns to `-o`",
         ("has no column STATUS, MAX: add them to -o",),
         '{"COMMAND":"bhosts","HOSTS":1,"RECORDS":[{"HOST_NAME":"h1","GPU_NUM":"4"}]}'),
    Form("`bhosts -o '…'` without `-json`, without `max`", NEW, "snapshot --bhosts",
         "rejected", "give the columns to `-o`", ("has no column MAX: add them to -o",),
         jobs("HOST_NAME       STATUS", "h1              ok")),
)  # fmt: skip

_QUEUES = jobs(
    "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP",
    "night            40  Open:Active      16    -    -    -     0     0     0     0",
)
_QUEUE = jobs(
    "QUEUE: night",
    "  -- at night",
    "",
    "PARAMETERS/STATISTICS",
    "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV",
    " 40   20  Open:Active      16    -    -    -     0     0     0     0     0    0",
    "",
    "MAXIMUM LIMITS:",
    " RUNLIMIT",
    " 60.0 min",
    "",
    "SCHEDULING POLICIES:  BACKFILL",
    "USERS:  all",
    "HOSTS:  all",
)
_SHARES = jobs(
    "SHARE_INFO_FOR: P1/",
    "USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME",
    "ann             1     0.333       0        0        0.0         0",
)
BQUEUES = (
    Form("`bqueues`, `-w`", ALL, "snapshot --bqueues", "reported",
         "priority, status, slot limits and counts are read; missing limits, policies, users "
         "and hosts are reported", ("no limits, policies",), _QUEUES),
    Form("`bqueues -l`", ALL, "snapshot --bqueues", "read",
         "also limits, policies, users, hosts, requirement, thresholds, windows",
         ("RUNLIMIT: 1h", "BACKFILL: Y", "DESCRIPTION: at night"), _QUEUE),
    Form("`bqueues -r`", ALL, "snapshot --bqueues", "read",
         "also share accounts of every level",
         ("USER_SHARES[[ann,1]]", "policy: night, account: ann"),
         _QUEUE.replace("BACKFILL", "FAIRSHARE\nUSER_SHARES:  [ann, 1]\n\n"
                        + _SHARES.replace("P1", "night"))),
    Form("`bqueues -json -o '…'`", NEW, "snapshot --bqueues", "reported",
         "`queue_name status` are needed, `prio max jl_u jl_p jl_h njobs pend run susp` are read; "
         "missing facts are reported as for plain `bqueues`", ("no limits, policies",),
         '{"COMMAND":"bqueues","QUEUES":1,"RECORDS":[{"QUEUE_NAME":"night","PRIO":"40",'
         '"STATUS":"Open:Active","MAX":"16"}]}'),
    Form("`bqueues -json` without `status`", NEW, "snapshot --bqueues", "rejected",
         "give the column to `-o`", ("has no column STATUS: add them to -o",),
         '{"COMMAND":"bqueues","QUEUES":1,"RECORDS":[{"QUEUE_NAME":"night","MAX":"16"}]}'),
    Form("`bqueues -o '…'` without `-json`, other columns", NEW, "snapshot --bqueues",
         "rejected", "use `bqueues -l`, `-r`, `-w` or `-json -o`", ("bqueues -l, -r, -w or -json",),
         jobs("QUEUE_NAME      NJOBS", "night               0")),
    Form("`bhpart`, `-r`", ALL, "snapshot --bhpart", "read",
         "hosts and share accounts of each partition", ("host_partitions",),
         jobs("HOST_PARTITION_NAME: P1", "HOSTS: h1", "") + _SHARES),
)  # fmt: skip

_LSHOSTS = jobs(
    "HOST_NAME                       type       model  cpuf ncpus maxmem maxswp server RESOURCES",
    "hostA                         X86_64     Opteron  60.0    12    64G     2G    Yes (mg)",
)
LSHOSTS = (
    Form("`lshosts`, `-w`", ALL, "import lsf --lshosts", "read",
         "type, model, factor, processors, memory, swap, resources",
         ("type: X86_64", "slots: 4"), _LSHOSTS),
    Form("`lshosts`, a truncated name", ALL, "import lsf --lshosts", "rejected", "use `lshosts -w`",
         ("lshosts -w prints it whole",), _LSHOSTS.replace("hostA", "*ostA")),
    Form("`lshosts -l`", ALL, "import lsf --lshosts", "rejected", "use `lshosts -w`",
         ("lshosts -w",),
         jobs("HOST_NAME:  hostA", "type    model  cpuf ncpus ndisks maxmem maxswp maxtmp rexpri "
              "server", "X86_64 Opteron  60.0    12      1    64G     2G  9G      0    Yes")),
    Form("`lshosts -json`", NEW, "import lsf --lshosts", "rejected", "use `lshosts -w`",
         ("lshosts -w",),
         '{"COMMAND":"lshosts","HOSTS":1,"RECORDS":[{"HOST_NAME":"hostA","ncpus":"12"}]}'),
    Form("`lshosts -gpu`", NEW, "import lsf --lshosts", "rejected", "use `lshosts -w`",
         ("has no column type", "lshosts -w"),
         jobs("HOST_NAME   gpu_id       gpu_model   gpu_driver   gpu_factor      numa_id",
              "hostA            0  TeslaV100       418.67         7.0            0")),
)  # fmt: skip

#: What stands in for the files of a site where nobody has these.
TELLING = (
    Form("`busers`, `-w`", ALL, "snapshot --busers", "read", "MAX and JL/P of users",
         ("- {name: ann, MAX_JOBS: 8}",),
         jobs("USER/GROUP          JL/P    MAX  NJOBS   PEND    RUN  SSUSP  USUSP    RSV",
              "ann                    -      8      0      0      0      0      0      0")),
    Form("`busers -json`", NEW, "snapshot --busers", "read", "MAX and JL/P of users",
         ("- {name: ann, MAX_JOBS: 8}",),
         '{"COMMAND":"busers","USERS":1,"RECORDS":[{"USER/GROUP":"ann","MAX":"8"}]}'),
    Form("`bparams`", ALL, "snapshot --bparams", "read", "cycle, accept interval, queue",
         ("MBD_SLEEP_TIME: 10",),
         jobs("Default Queues:  normal", "MBD_SLEEP_TIME used for calculations:  10 seconds")),
    Form("`bparams -l`", ALL, "snapshot --bparams", "read",
         "parameters that Slotwise knows", ("MBD_SLEEP_TIME: 10",),
         jobs("System default queues for automatic queue selection:",
              "    DEFAULT_QUEUE =  normal", "    MBD_SLEEP_TIME = 10 (seconds)")),
    Form("`bparams -a`", NEW, "snapshot --bparams", "read",
         "parameters that Slotwise knows", ("MBD_SLEEP_TIME: 10",),
         jobs("lsb.params configuration at Fri Apr 22 15:18:50", "     MBD_SLEEP_TIME = 10")),
    Form("`bmgroup`, `-r`", ALL, "snapshot --bmgroup", "read", "host groups",
         ("hg1: h1",), jobs("GROUP_NAME    HOSTS", "hg1           h1")),
    Form("`bugroup`, `-r`", ALL, "snapshot --bugroup", "read", "user groups",
         ("- {name: ug1, members: ann bob}",),
         jobs("GROUP_NAME    USERS", "ug1           ann bob")),
    Form("`bugroup -l`", ALL, "snapshot --bugroup", "read", "user groups and their shares",
         ("USER_SHARES[[ann,2]]",),
         jobs("GROUP_NAME: ug1", "USERS:  ann bob", "SHARES: [ann,2]")),
    Form("`blimits`, `-a`, `-w`", ALL, "snapshot --blimits", "read",
         "limits and their usage; jobs that no row names are reported",
         ("- {name: l1, USERS: ann, SLOTS: 8}",),
         jobs("INTERNAL RESOURCE LIMITS:", "",
              "NAME    USERS   QUEUES  HOSTS  PROJECTS  SLOTS", "l1   ann   -  -   -  0/8")),
    Form("`blimits -c`, `bresources`", LSF, "snapshot --blimits", "read",
         "limits as configured", ("- {name: l1, PER_USER: all, SLOTS: 8}",),
         jobs("Begin Limit", "NAME = l1", "PER_USER = all", "SLOTS = 8", "End Limit")),
    Form("`bjgroup`, `-s`", LSF, "snapshot --bjgroup", "read",
         "job groups and their limits", ("- {name: /A, limit: 10}",),
         jobs("GROUP_NAME   NJOBS  PEND  RUN  SSUSP  USUSP  FINISH  SLA  JLIMIT  OWNER",
              "/A               0     0    0      0      0       0   ()    0/10  user1")),
    Form("`bsla`", LSF, "snapshot --bsla", "read",
         "service classes with goal GUARANTEE; time-based goals are reported",
         ("name: sc1", "USERS[ann]"),
         jobs("SERVICE CLASS NAME:  sc1", "ACCESS CONTROL:  QUEUES[none] USERS[ann]",
              "AUTO ATTACH:  Y", "", "GOAL:  GUARANTEE")),
    Form("`bresources -g -l`", LSF, "snapshot --bresources", "read",
         "guaranteed resource pools of hosts; those of shared resources need the files",
         ("name: p1", "DISTRIBUTION: '[sc1, 2]'"),
         jobs("GUARANTEED RESOURCE POOL: p1", "TYPE: slots", "DISTRIBUTION: [sc1, 2]",
              "HOSTS: all")),
    Form("`lshosts -T`, `bhosts -aff`", LSF, "snapshot --topology", "read",
         "cores, threads, sockets and NUMA nodes of hosts; only the second prints which hosts "
         "accept `affinity[]`",
         ("cores: 2", "threads: 4", "sockets: 1", "numa_nodes: 1"),
         jobs("Host[62G] h1", "    NUMA[0: 62G]", "        Socket0",
              "            core0(0 2)", "            core1(1 3)")),
    Form("`brsvs`, `-w`, `-l`", LSF, "snapshot --brsvs", "read",
         "advance reservations; only `-l` prints whether a reservation is open",
         ("name: user1#0", "users: user1", "allocation: 2*h1", "open: true"),
         jobs("RSVID    TYPE   USER    NCPUS   RSV_HOSTS      TIME_WINDOW",
              "user1#0  user   user1   0/2     h1:0/2         3:0:0-3:3:0 *",
              " Reservation Status: Inactive", " Reservation Type: OPEN")),
    Form("`bjobs -aps`", LSF, "snapshot --aps", "read",
         "system priorities; values are compared with the formula of the queue",
         ("name: h",), jobs(f"{_TABLE}    APS", f"{_LINE}  50.00")),
    Form("`lshosts -w`", ALL, "snapshot --lshosts", "read",
         "memory, swap, type, model, factor, processors, resources of hosts that bhosts lists",
         ("model: Opteron",), _LSHOSTS.replace("hostA", "h1   ")),
)  # fmt: skip

#: Of these no command takes anything: name, versions, what to use instead, a part of it, the text.
_OTHERS = (
    ("`lsload`, `-w`, `-l`", ALL, "load: use `bhosts -l`", "give bhosts -l",
     jobs("HOST_NAME       status  r15s   r1m  r15m   ut    pg  ls    it   tmp   swp   mem",
          "h1                  ok   0.0   0.0   0.0   0%   0.0   1     0  911M  915M    2G")),
    ("`lsload -s`", ALL, "shared resources: use `bhosts -s`", "give bhosts -s",
     jobs("RESOURCE                                VALUE       LOCATION", "lic   4    h1")),
    ("`bresources -g`", LSF, "use `bresources -g -l`; in a folder it is reported, and nothing is "
    "proved",
     "bresources -g -l",
     jobs("POOL_NAME   TYPE   STATUS   TOTAL   FREE", "p1   slots  ok  8  8")),
    ("`bslots`", ALL, "LSF's backfill slots: not needed", "not a state of the cluster",
     jobs("SLOTS          RUNTIME", "4              1 hours 0 minutes 0 seconds")),
    ("`bacct`, `-l`", ALL, "`import acct` reads `lsb.acct`", "lsb.acct",
     jobs("", "Accounting information about jobs that are:", "  - submitted by users ann,",
          "-" * 78, "", "Job <7>, User <ann>, Project <p>, Status <DONE>, Queue <q>, Command <x>",
          f"Fri Apr 22 15:18:50: {_ASKS}")),
    ("`bhist`", ALL, "`import events` reads `lsb.events`", "lsb.events",
     jobs("Summary of time in seconds spent in various states:",
          "JOBID   USER    JOB_NAME  PEND    PSUSP   RUN     USUSP   SSUSP   UNKWN   TOTAL",
          "7       ann     x         1       0       0       0       0       0       1")),
    ("`bhist -l`", ALL, "`import events` reads `lsb.events`", "lsb.events",
     jobs("Job <7>, User <ann>, Project <p>, Command <x>", f"Fri Apr 22 15:18:50: {_ASKS}", "",
          "Summary of time in seconds spent in various states by  Fri Apr 22 15:19:50",
          "  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL",
          "  60       0        0        0        0        0        60")),
    ("`bapp`, `-l`", LSF, "`import lsf` reads `lsb.applications`", "lsb.applications",
     jobs("APP_NAME            NJOBS     PEND      RUN     SUSP", "app1  0  0  0  0")),
    ("`badmin showconf`", ALL, "`import lsf` reads the files", "configuration files",
     jobs("MBD configuration at Fri Apr 22 15:18:50", "LSB_SHAREDIR = /x")),
    ("`lsload -json`", NEW, "load: use `bhosts -l`", "give bhosts -l",
     '{"COMMAND":"lsload","HOSTS":1,"RECORDS":[{"HOST_NAME":"h1","status":"ok"}]}'),
    ("`lsid`", ALL, "the cluster's name: `import lsf --cluster`", "--cluster",
     jobs("IBM Spectrum LSF 10.1.0.13", "My cluster name is c1", "My master name is h1")),
)  # fmt: skip
OTHERS = tuple(
    Form(form, versions, "snapshot", "rejected", says, (shows,), text)
    for form, versions, says, shows, text in _OTHERS
)

FILES = (
    Form("`lsb.acct`", LSF, "import acct", "read",
         "finished jobs: slots, hosts, times, usage, requirement, account", ("hosts:",),
         DATA / "acct" / "lsb.acct.small-cluster"),
    Form("`lsb.acct`, records cut off", LSF, "import acct", "rejected",
         "every malformed record with its line; `--keep-going` reads the others",
         ("the record has no",), DATA / "acct" / "lsb.acct.missing-fields"),
    Form("`lsb.events`", LSF, "import events", "read",
         "running and pending jobs: the records of [import events](import.md#an-instant-of-a-log)",
         ("hosts:",),
         DATA / "lsf" / "lsb.events"),
    Form("`lsb.acct`", "LSF 5 to 8", "import acct", "read",
         "the same, within its records", ("hosts:",), DATA / "acct" / "lsb.acct.older"),
    Form("`lsb.acct`", LAVA, "import acct", "read", "the same; no user group, no run limit",
         ("name: h2",),
         jobs('"JOB_FINISH" "22" 200 7 1001 2 2 100 0 0 110 "ann" "normal" "" "" "" '
              '"h1" "x" "" "" "" "100.7" 0 2 "h2" "h2" 64 1.0 "name" "cmd" 1.5 0.5 '
              + " ".join(["-1"] * 17) + ' "" "default" 0 2 "" 3 0 0 "" ""')),
    Form("`lsb.events`", LAVA, "import events", "read",
         "the same; no user group and no application",
         ("id: '1'", "run_limit: 1h", "span[hosts=1]"),
         jobs('"JOB_NEW" "22" 100 1 1001 2 2 100 0 0 0 0 0 "ann" '
              + " ".join(["-1"] * 9) + ' 3600 -1 ""   1.00 18 "normal" "span[hosts=1]" "h1" "x" '
              '"" "" "" "" "/home/ann" "100.1" 1 "h2" "" "" "name" "sleep 1" 0 "" "default" 2 '
              '"X86_64" "" 0 0 "" "" "" 30 "" ""',
              '"JOB_START" "22" 110 1 4 0 0 1.0 2 "h2" "h2" "" "" 0 0 "select[type==any]"')),
    Form("a directory: `lsf.conf`, `lsf.shared`, `lsf.cluster.NAME`, `lsb.hosts`, `lsb.queues`, "
         "`lsb.params`, `lsb.users`, `lsb.serviceclasses`, `lsb.resources`, "
         "`lsb.applications`, `lsb.modules`", ALL,
         "import lsf", "read", "[The configuration](import.md)", ("PRIORITY: 40", "slots: 4"),
         {"lsb.queues": "Begin Queue\nQUEUE_NAME = night\nPRIORITY = 40\nEnd Queue\n"}),
    Form("a directory with parameters that have no counterpart", ALL, "import lsf", "reported",
         "each by name", ("SNDJOBS_TO",),
         {"lsb.queues": "Begin Queue\nQUEUE_NAME = night\nPRIORITY = 40\n"
                        "SNDJOBS_TO = far@away\nEnd Queue\n"}),
    Form("a directory without any of these files", ALL, "import lsf", "rejected",
         "give the directory that contains them", ("has no LSF configuration",), {"readme": "x\n"}),
)  # fmt: skip

PRINTED = (
    Form("`blimits -c`, `bresources`", LSF, "snapshot --bhosts", "rejected",
         "sections of `lsb.resources`: `import lsf` reads that file", ("slotwise import lsf",),
         jobs("Begin Limit", "NAME = l1", "SLOTS = 8", "End Limit")),
)  # fmt: skip

FORMS = (*BJOBS, *BHOSTS, *BQUEUES, *LSHOSTS, *TELLING, *OTHERS, *PRINTED, *FILES)
