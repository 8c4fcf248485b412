"""What every floor of the house stands on: types, threads, parallel tasks, randomness, settings."""
