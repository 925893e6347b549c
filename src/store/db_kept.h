/*
 * Files below a folder that a process keeps open because it cannot enter the folders above: named
 * "/proc/self/fd/7/name". SQLite would look for the whole path of such a file, and not get there.
 */
#pragma once

/* The file system of SQLite for a path; NULL = its usual one. Thread safe. */
const char *db_vfs_for(const char *path);
