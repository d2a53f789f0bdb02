"""Equal budgets: what each architecture may spend, in parameters, arithmetic, time or trials."""
