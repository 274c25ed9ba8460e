"""Exact placement of one term of a job over one window (PLC rows).

:func:`place` gives exactly so many slots, :func:`place_least` the fewest of a range that fit,
:func:`place_most` as many as LSF would at dispatch; :func:`fits` and :func:`fits_at_all` only say
whether the first two would find something. A None is a proof: no placement keeps the rules.

Where several do, these rules choose, so that the answer is always the same:

* Hosts are taken in candidate order, units in the order: unit of the first execution host, host
  preference, pref (free slots, ties in configuration order), configuration.
* same[]: the first label class with a placement, classes in the order of their first host.
* ptile: whole hosts first in order; the last, smaller block goes to the first host that fits it
  among the rest, with units in a unit already used if that works.
* block: as ptile with a block for a host, of which a host may hold several; balance counts blocks.
* cu[] alone: first fit over the units. usablecuslots alone: first fit over the units that can
  give so many; only if that fails the fewest units.
* maxcus, balance, pref=bestfit: fewest units, then the first combination in unit order; within
  it, units are filled in order (balance: larger parts first). One unit may have less than
  usablecuslots: the last in order, unless another is too small for it anyway. A job smaller than
  usablecuslots may run in one unit.
* A first execution host comes first, and its unit; the first such host in candidate order that
  does not cost more units.

The combinatorial method is exact for all keywords. Caps over part of the hosts that the first
answer does not keep, and blocks that differ from host to host under usablecuslots, balance or a
first execution host, go to a CP-SAT model (:mod:`.cpsat`). It keeps the number of units and the
order of the allocation; which of several combinations it takes is the same on every machine, but
early hosts are preferred only as far as a small effort goes.
"""

from __future__ import annotations

from .single import fits, fits_at_all, place, place_least, place_most

__all__ = ["fits", "fits_at_all", "place", "place_least", "place_most"]
