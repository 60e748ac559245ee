"""Text, times, names and claims: functions over strings."""
