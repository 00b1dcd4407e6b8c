"""What people do with an environment: learn with SB3, plan, record, demonstrate, play."""
