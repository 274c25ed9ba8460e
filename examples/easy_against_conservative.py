# %% [markdown]
# # EASY against conservative backfilling, on two logs
#
# Mu'alem and Feitelson ("Utilization, Predictability, Workloads, and User Runtime Estimates in
# Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001) found that the relative
# performance of the two depends on the workload. This notebook tests that on two logs that the
# repository has. They are not the logs of a table in that paper. Each figure is compared with pyss,
# the simulator of the same laboratory.
#
# - KTH-SP2, 1996: 28,481 jobs on 100 processors (Parallel Workloads Archive, Lars Malinowsky).
# - Theta, 2022: 23,911 jobs on 4,360 nodes (Argonne Leadership Computing Facility).
#
# The waits of pyss are in `*_waits.csv.gz` next to the logs. EASY on KTH-SP2 is also the published
# baseline of Gaussier et al. (SC 2015), job for job.
#
# Run it as a script, or open it in an editor that knows `# %%` cells.

# %%
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import slotwise as sw

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "data" / "traces"
LOGS = sys.argv[1:] or ["KTH-SP2", "theta_2022"]
POLICIES = ["easy", "conservative"]
runs = {name: sw.replay(sw.read_log(FOLDER / f"{name}.swf.gz"), policy=POLICIES) for name in LOGS}

# %% [markdown]
# ## The table: mean wait and bounded slowdown, with 95 % intervals by batch means

# %%
rows = []
for name, compared in runs.items():
    reference = pd.read_csv(FOLDER / f"{name}_waits.csv.gz").set_index("job")
    for row, result in zip(compared.to_records(), compared, strict=True):
        wait = reference[row["policy"]].loc[result.workload.job].to_numpy()
        run = result.workload.run_time
        slowdown = np.maximum(1, (wait + run) / np.maximum(run, 10))
        for key, expected in (("mean_wait", wait), ("mean_bounded_slowdown", slowdown)):
            rows.append(
                {
                    "log": name,
                    "policy": row["policy"],
                    "measure": key,
                    "slotwise": row[key],
                    "low": row[f"{key}_low"],
                    "high": row[f"{key}_high"],
                    "pyss": float(expected.mean()),
                }
            )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))
inside = (table["low"] <= table["pyss"]) & (table["pyss"] <= table["high"])
print(f"{int(inside.sum())} of {len(table)} figures of pyss lie within the interval")

# %% [markdown]
# ## Is the difference more than chance?
#
# The two policies are paired: each job has a wait under both. The batches are those of the
# intervals, 20 in order of arrival.

# %%
T = 2.093  # Student's t: 0.975 quantile, 19 degrees of freedom
for name, compared in runs.items():
    change = compared["conservative"].wait - compared["easy"].wait
    means = np.array([part.mean() for part in np.array_split(change, 20)])
    half = T * means.std(ddof=1) / np.sqrt(len(means))
    mean = change.mean()
    clear = "beyond chance" if abs(mean) > half else "within chance"
    print(f"{name}: conservative less EASY, mean wait {mean:+.0f} s ± {half:.0f} s ({clear})")
