// Exists to be compiled with the precompiled header that all test programs reuse.
