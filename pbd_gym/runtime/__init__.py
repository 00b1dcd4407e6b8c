"""What the process runs on: devices, threads, compiling in the background, and checks of arguments."""
