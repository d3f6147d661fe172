/* All that the headers ask of <string.h>, for the freestanding build of tests/portability/run.sh */
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
