/* Started by spawn_test. Writes what it was given to REPORT: descriptors and where they lead,
 * session, process group, signal state, environment, arguments, current folder. With a third
 * argument, a file, it then stays until that file is gone or a minute has passed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static void write_descriptors(FILE* out) {
  DIR* folder = opendir("/proc/self/fd");
  struct dirent* entry;
  if (folder == NULL) return;
  while ((entry = readdir(folder)) != NULL) {
    const int fd = atoi(entry->d_name);
    char link[64], target[256];
    if (entry->d_name[0] == '.' || fd == dirfd(folder) || fd == fileno(out)) continue;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    fprintf(out, "fd %d %s\n", fd, target);
  }
  closedir(folder);
}

static void write_signals(FILE* out) {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int s = 1; s < 65; ++s) {
    struct sigaction action;
    if (sigismember(&blocked, s) == 1) fprintf(out, "blocked %d\n", s);
    if (sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
      fprintf(out, "handled %d\n", s);
    }
  }
}

int main(int argc, char** argv) {
  char temporary[512], folder[512];
  if (argc < 2) return 2;
  snprintf(temporary, sizeof temporary, "%s.new", argv[1]);
  FILE* out = fopen(temporary, "w");
  if (out == NULL) return 2;
  write_descriptors(out);
  write_signals(out);
  fprintf(out, "pid %d\nsession %d\ngroup %d\n", getpid(), getsid(0), getpgrp());
  if (getcwd(folder, sizeof folder) != NULL) fprintf(out, "folder %s\n", folder);
  for (int i = 0; i < argc; ++i) fprintf(out, "argument %s\n", argv[i]);
  for (char** e = environ; *e != NULL; ++e) fprintf(out, "variable %s\n", *e);
  fclose(out);
  if (rename(temporary, argv[1]) != 0) return 2;
  if (argc > 2) {
    const time_t end = time(NULL) + 60;
    struct stat file;
    const struct timespec pause = {0, 1000000};
    while (stat(argv[2], &file) == 0 && time(NULL) < end) nanosleep(&pause, NULL);
  }
  return 0;
}
