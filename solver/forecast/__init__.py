"""Forecasts of the real starts of jobs, with probabilities (docs/dev/forecast.md)."""
