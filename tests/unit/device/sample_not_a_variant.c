__attribute__((visibility("default"))) int hiera_other(void) { return 1; }
