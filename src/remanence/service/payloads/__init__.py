"""What operations take and return, as typed requests and answers."""
