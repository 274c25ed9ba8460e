"""The parts of :mod:`slotwise.solver.validate`, one module a family of rules."""
