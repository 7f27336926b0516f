"""What an attacker who knows both tables learns from all that a call releases."""
