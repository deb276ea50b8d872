// Loaded before a program (LD_PRELOAD): counts what it does to files below FAULT_FOLDER, and at the
// FAULT_AT-th operation either lets that one and FAULT_COUNT - 1 more fail with FAULT_ERRNO, or,
// when FAULT_ERRNO is 0, ends the process as a loss of power would. What had been made durable until
// then lies in FAULT_SHADOW: the content of synced files by inode ("f<inode>"), the entries of
// synced folders ("d<inode>"). The number of operations is written to FAULT_SHADOW/count.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long operations;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_watched(const char* path) {
  const char* folder = getenv("FAULT_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_watched_fd(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return is_watched(path);
}

static void shadow_name(char* name, size_t size, char kind, ino_t inode) {
  snprintf(name, size, "%s/%c%lu", getenv("FAULT_SHADOW"), kind, (unsigned long)inode);
}

static void forget(char kind, ino_t inode) {
  char name[4096];
  shadow_name(name, sizeof name, kind, inode);
  REAL(unlink)(name);
}

// Returns 1 when the operation must fail; errno is set then. Does not return after a loss of power.
static int strikes(void) {
  const long at = atol(getenv("FAULT_AT") ? getenv("FAULT_AT") : "0"),
             count = atol(getenv("FAULT_COUNT") ? getenv("FAULT_COUNT") : "1");
  const int reason = atoi(getenv("FAULT_ERRNO") ? getenv("FAULT_ERRNO") : "0");
  ++operations;
  char name[4096];
  snprintf(name, sizeof name, "%s/count", getenv("FAULT_SHADOW"));
  FILE* file = fopen(name, "w");
  if (file) {
    fprintf(file, "%ld", operations);
    fclose(file);
  }
  if (at == 0 || operations < at || operations >= at + count) return 0;
  if (reason == 0) _exit(99);
  errno = reason;
  return 1;
}

static void keep_content(int fd, const struct stat* info) {
  char name[4096], buffer[65536];
  shadow_name(name, sizeof name, 'f', info->st_ino);
  FILE* file = fopen(name, "w");
  if (!file) return;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  FILE* from = fopen(link, "r");
  for (size_t n; from && (n = fread(buffer, 1, sizeof buffer, from)) > 0;)
    fwrite(buffer, 1, n, file);
  if (from) fclose(from);
  fclose(file);
}

static void keep_entries(int fd, const struct stat* info) {
  char name[4096];
  shadow_name(name, sizeof name, 'd', info->st_ino);
  FILE* file = fopen(name, "w");
  if (!file) return;
  DIR* folder = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY));
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    struct stat child;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (fstatat(fd, entry->d_name, &child, AT_SYMLINK_NOFOLLOW) != 0) continue;
    fprintf(file, "%c%lu %s\n", S_ISDIR(child.st_mode) ? 'd' : 'f', (unsigned long)child.st_ino,
            entry->d_name);
  }
  if (folder) closedir(folder);
  fclose(file);
}

#define GUARD(watched)                     \
  const int is_ours = (watched);           \
  if (is_ours) {                           \
    pthread_mutex_lock(&mutex);            \
    if (strikes()) {                       \
      const int reason = errno;            \
      pthread_mutex_unlock(&mutex);        \
      errno = reason;                      \
      return -1;                           \
    }                                      \
  }
#define DONE(result)                            \
  if (is_ours) pthread_mutex_unlock(&mutex);    \
  return result

static int open_file(int (*real)(const char*, int, ...), const char* path, int flags, mode_t mode) {
  const int creates = (flags & (O_CREAT | O_TRUNC)) != 0 && is_watched(path);
  GUARD(creates);
  struct stat info;
  const int was_there = is_ours && stat(path, &info) == 0;
  const int fd = real(path, flags, mode);
  if (is_ours && fd >= 0 && !was_there && fstat(fd, &info) == 0) forget('f', info.st_ino);
  DONE(fd);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file(REAL(open), path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file(REAL(open64), path, flags, mode);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  GUARD(is_watched_fd(fd));
  const ssize_t written = REAL(write)(fd, bytes, size);
  DONE(written);
}

int ftruncate(int fd, off_t size) {
  GUARD(is_watched_fd(fd));
  const int result = REAL(ftruncate)(fd, size);
  DONE(result);
}

int fsync(int fd) {
  GUARD(is_watched_fd(fd));
  struct stat info;
  const int result = REAL(fsync)(fd);
  if (is_ours && result == 0 && fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode))
      keep_entries(fd, &info);
    else
      keep_content(fd, &info);
  }
  DONE(result);
}

int rename(const char* from, const char* to) {
  GUARD(is_watched(to));
  const int result = REAL(rename)(from, to);
  DONE(result);
}

int mkdir(const char* path, mode_t mode) {
  GUARD(is_watched(path));
  const int result = REAL(mkdir)(path, mode);
  struct stat info;
  if (is_ours && result == 0 && stat(path, &info) == 0) forget('d', info.st_ino);
  DONE(result);
}
