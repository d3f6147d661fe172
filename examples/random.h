/* random.h - random numbers for the lessons: any source of 64 random bits will do for the headers,
   and here is a short one, splitmix64. `state` is a uint64_t, any number at first. */
#ifndef RANDOM_H
#define RANDOM_H
#include <stdint.h>

#if defined(__GNUC__)
#define RANDOM_FN static __attribute__((unused))
#else
#define RANDOM_FN static
#endif

/* as agg_rng.next; self: the state */
RANDOM_FN uint64_t random_bits(void *self) {
    uint64_t *state = (uint64_t *)self, z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* 0 .. 1 */
RANDOM_FN double random_uniform(uint64_t *state) {
    return (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

/* mean 0, deviation 1, near enough: the sum of twelve uniform numbers */
RANDOM_FN double random_normal(uint64_t *state) {
    double s = -6;
    for (int i = 0; i < 12; i++) s += random_uniform(state);
    return s;
}
#endif /* RANDOM_H */
