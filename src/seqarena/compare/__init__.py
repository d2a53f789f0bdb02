"""Runs compared from their records: statistics, decisions, verdicts, tables and a page. No torch."""
