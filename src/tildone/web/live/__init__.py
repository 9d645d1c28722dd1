"""Live updates: frames that tell what changed, and the streams that send them."""
