/*
 * Files in a folder that the process keeps open because it may not enter the parent folders: named
 * "/proc/self/fd/7/name". SQLite's default file system would resolve the full path, and fail.
 */
#pragma once

/* The SQLite VFS for a path; NULL = the default. Thread safe. */
const char *db_vfs_for(const char *path);
