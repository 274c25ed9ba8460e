"""The views of `slotwise show`: what LSF's commands would print, one subject per module."""
