"""The same work on many photos by many processes: shards of photos go out, statistics and tables come back."""
