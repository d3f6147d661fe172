/* A structured adversary: honest rows of diameter about 1, and f hostile ones in three groups, each
   at a scale of its own: those at the front, where the rule is to be lured, those in the middle,
   and those far behind, which only pull. A hill climber that moves single numbers does not find
   such scenes. Include common.h first. */
#ifndef TESTS_STRUCTURED_H
#define TESTS_STRUCTURED_H

typedef enum scene_honest { HONEST_SIMPLEX, HONEST_CAMPS, HONEST_PAIR, HONEST_NOISE } scene_honest;

typedef struct scene {
    scene_honest honest;
    size_t camp;                /* honest rows in the first of two camps */
    int diagonal;               /* the groups lie towards the mean of the simplex, or off it */
    size_t front, middle;       /* how many; the rest are far */
    double at_front, at_middle; /* in diameters */
    double at_far, spread;      /* log10 of it; how much the far ones spread */
} scene;

/* dim so that an n-f simplex and a direction of its own fit, but at most `most` */
static inline size_t scene_dim(size_t n, size_t f, size_t most) {
    return n - f + 1 < most ? n - f + 1 : most;
}

static inline scene scene_random(size_t n, size_t f, rng *r) {
    const double most = sizeof(agg_real) > sizeof(float) ? 300 : 36;
    scene s;
    s.honest = (scene_honest)rng_below(r, 4);
    s.camp = 1 + rng_below(r, n - f);
    s.diagonal = (int)rng_below(r, 2);
    s.front = 1 + (rng_below(r, 2) ? 0 : rng_below(r, f));
    s.middle = rng_below(r, 3) ? 0 : rng_below(r, f - s.front + 1);
    s.at_front = rng_below(r, 4) ? (double)f * (0.2 + rng_unit(r)) : 3 * rng_unit(r);
    s.at_middle = pow(10, 4 * rng_unit(r));
    s.at_far = rng_below(r, 2) ? 6 + 3 * rng_unit(r) : most * rng_unit(r);
    s.spread = rng_below(r, 2) ? 0 : 0.3 * rng_unit(r);
    return s;
}

/* a step from it */
static inline scene scene_near(const scene *from, size_t n, size_t f, double step, rng *r) {
    scene s = *from;
    const scene other = scene_random(n, f, r);
    switch (rng_below(r, 6)) {
    case 0: s.at_far = fabs(s.at_far + step * rng_normal(r)); break;
    case 1: s.at_middle *= exp(step * rng_normal(r)); break;
    case 2: s.spread = step * rng_unit(r); break;
    case 3: s.camp = other.camp; break;
    default: s.at_front *= exp(0.3 * step * rng_normal(r)); break;
    }
    if (s.at_far > other.at_far + 20 && s.at_far > 30) s.at_far = other.at_far;
    return s;
}

static inline double scene_honest_number(const scene *s, size_t i, size_t k, size_t honest,
                                         rng *r) {
    switch (s->honest) {
    case HONEST_SIMPLEX: return i == k ? sqrt(0.5) : 0;
    case HONEST_CAMPS: return k == 0 && i >= s->camp;
    case HONEST_PAIR: return k == 0 ? (i == 0) - (i + 1 == honest) : 0;
    case HONEST_NOISE:
    default: return 0.3 * rng_normal(r);
    }
}

/* number k of the way that the groups lie on */
static inline double scene_way(const scene *s, size_t k, size_t honest, size_t dim) {
    if (!s->diagonal) return k + 1 == dim;
    return k < honest ? 1 / sqrt((double)(honest < dim ? honest : dim)) : 0;
}

/* rows 0 .. n-f-1 are honest */
static inline void scene_rows(const scene *s, rows *x, size_t f, rng *r) {
    const size_t honest = x->n - f, middle = honest + s->front, behind = middle + s->middle;
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->dim; k++) {
            const double way = scene_way(s, k, honest, x->dim);
            const double v = i < honest   ? scene_honest_number(s, i, k, honest, r)
                             : i < middle ? s->at_front * way
                             : i < behind ? s->at_middle * way
                                          : pow(10, s->at_far) * (way + s->spread * rng_normal(r));
            const double most = (double)REAL_MAX;
            rows_at(x, i)[k] = (agg_real)(v > most ? most : v < -most ? -most : v);
        }
}
#endif /* TESTS_STRUCTURED_H */
