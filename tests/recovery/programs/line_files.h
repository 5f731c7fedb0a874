/* Files of one number, or of one in each line. */
#pragma once
#include "need.h"

static void add_line(const char* path, const char* mode, int value) {
  FILE* file = fopen(path, mode);
  need(file != NULL, path);
  fprintf(file, "%d\n", value);
  fclose(file);
}

static int read_line(const char* path) {
  int value = -1;
  FILE* file = fopen(path, "r");
  need(file != NULL && fscanf(file, "%d", &value) == 1, path);
  fclose(file);
  return value;
}
