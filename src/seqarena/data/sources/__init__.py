"""Where examples come from: files of the user, and generators. Each is one file and one YAML in conf/data."""
