/* What peers.py asks of us: the calls of contenders.h from a shared library, on rows that numpy
   made. */
#include "bench.h"
#include "contenders.h"

typedef struct peers_job {
    job *ours;
    const contender *c;
    size size;
    const agg_real **row;
} peers_job;

peers_job *peers_open(const char *name, size_t n, size_t f, size_t dim, const agg_real *x);
size_t peers_f(const peers_job *p);
double peers_seconds(peers_job *p, int times, unsigned cut, agg_real *out);
double peers_read(const peers_job *p, int times);
double peers_arithmetic(const peers_job *p);
void peers_close(peers_job *p);

/* NULL: there is no such contender. x: n x dim, stays where it is */
peers_job *peers_open(const char *name, size_t n, size_t f, size_t dim, const agg_real *x) {
    const int c = contender_named(name);
    if (c == CONTENDERS) return NULL;
    peers_job *p = (peers_job *)bench_alloc(1, sizeof *p);
    p->c = &contenders[c];
    p->size.n = n;
    p->size.f = f;
    p->size.dim = dim;
    p->ours = job_make(p->c, &p->size);
    p->row = (const agg_real **)bench_alloc(n, sizeof *p->row);
    for (size_t i = 0; i < n; i++) p->row[i] = x + i * dim;
    return p;
}

/* what the rule survives of it */
size_t peers_f(const peers_job *p) { return p->ours->desc.f; }

/* for one call, the average of some */
double peers_seconds(peers_job *p, int times, unsigned cut, agg_real *out) {
    double seconds = job_seconds(p->ours, p->row, times, cut);
    memcpy(out, p->ours->out, p->size.dim * sizeof *out);
    return seconds;
}

double peers_read(const peers_job *p, int times) {
    return limit_read(p->row[0], p->size.n * p->size.dim, times);
}

double peers_arithmetic(const peers_job *p) {
    return limit_arithmetic(p->c->needs, &p->size, limit_peak());
}

void peers_close(peers_job *p) {
    job_free(p->ours);
    free(p->row);
    free(p);
}
