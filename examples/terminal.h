/* terminal.h - progress on stderr, for a person or a log:

       for (size_t i = 1; i <= rounds; i++) {
           work();
           terminal_say(i, rounds, "return %.1f", score());   // "round 17 of 300  return 21.4"
       }

   A person who is watching sees one line that is rewritten; a log gets every tenth of the way as a
   line of its own, and no carriage return ever. POSIX: define _POSIX_C_SOURCE 200809L first. */
#ifndef TERMINAL_H
#define TERMINAL_H
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static void terminal_say(size_t round, size_t rounds, const char *format, ...) {
    const int live = isatty(2);
    const size_t every = live || rounds < 10 ? 1 : rounds / 10;
    va_list args;
    if (round % every && round < rounds) return;
    va_start(args, format);
    fprintf(stderr, "%sround %3d of %d  ", live ? "\r" : "", (int)round, (int)rounds);
    vfprintf(stderr, format, args);
    fputs(live && round < rounds ? " " : "\n", stderr);
    va_end(args);
}
#endif /* TERMINAL_H */
