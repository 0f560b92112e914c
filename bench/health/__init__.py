"""Health: its planners, measured on questions whose author saw no planner."""
