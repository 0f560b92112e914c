"""Measures the planners of Health on questions whose author saw no planner."""
