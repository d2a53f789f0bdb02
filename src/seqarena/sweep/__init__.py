"""Many runs as one: a question with a grid, a process a job, a ledger to resume from. Nothing here needs torch."""
