"""What every architecture owes its users: the laws, a subject to check them on, and a card that says which hold."""
