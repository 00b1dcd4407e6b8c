"""Runtime support: devices, threads, compiling in the background, and checks of arguments."""
