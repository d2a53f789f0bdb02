"""The token ids that every vocabulary begins with; without torch, so that what prepares data starts quickly."""

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
