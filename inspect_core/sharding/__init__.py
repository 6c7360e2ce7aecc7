"""The same work on many photos by many processes: shards go out as bytes, states and tables come back as bytes."""
