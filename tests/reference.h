/* Reference code for aggregators.h: plain, slow, of the textbook kind, written from the definitions
   alone.
   The tests compare the library with it; bench/ times it. Include aggregators.h first (for agg_real
   and agg_desc).

   x: n rows of dim numbers, all finite. out, mag: dim numbers; w: n numbers. w and mag may be NULL.
   w[i] is the share of row i in out (coordinate-wise rules: averaged over coordinates); mag[k] is
   the largest |x_ik| that went into out[k], which is what rounding errors scale with. Ties go to
   the lower row. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef REF_REAL
#define REF_REAL long double /* no square of a double overflows or underflows in it */
#endif
typedef REF_REAL ref_num;

static inline ref_num ref_sqrt(ref_num v) { return (ref_num)sqrtl((long double)v); }

static inline ref_num ref_abs(ref_num v) { return v < 0 ? -v : v; }

static inline void *ref_alloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

static inline ref_num *ref_new(size_t count) {
    return (ref_num *)ref_alloc(count, sizeof(ref_num));
}

/* ---- distances, order, subsets ---- */
static inline ref_num ref_dist2(const agg_real *a, const agg_real *b, size_t dim) {
    ref_num sum = 0;
    for (size_t k = 0; k < dim; k++) {
        ref_num t = (ref_num)a[k] - (ref_num)b[k];
        sum += t * t;
    }
    return sum;
}

static inline ref_num ref_norm2(const agg_real *a, size_t dim) {
    ref_num sum = 0;
    for (size_t k = 0; k < dim; k++) sum += (ref_num)a[k] * (ref_num)a[k];
    return sum;
}

/* n x n, to be freed */
static inline ref_num *ref_distances2(const agg_real *const *x, size_t n, size_t dim) {
    ref_num *d2 = ref_new(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) d2[i * n + j] = d2[j * n + i] = ref_dist2(x[i], x[j], dim);
    return d2;
}

typedef struct ref_item {
    ref_num key;
    size_t row;
} ref_item;

/* by key, equal keys by row */
static inline int ref_compare(const void *a, const void *b) {
    const ref_item *p = (const ref_item *)a, *q = (const ref_item *)b;
    if (p->key < q->key) return -1;
    if (p->key > q->key) return 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static inline void ref_sort(ref_item *items, size_t n) {
    qsort(items, n, sizeof *items, ref_compare);
}

static inline ref_num ref_median(const ref_item *sorted, size_t n) {
    return n % 2 ? sorted[n / 2].key : (sorted[n / 2 - 1].key + sorted[n / 2].key) / 2;
}

/* all k-subsets of 0..n-1 in lexicographic order */
static inline void ref_first_subset(size_t *s, size_t k) {
    for (size_t i = 0; i < k; i++) s[i] = i;
}

static inline int ref_next_subset(size_t *s, size_t k, size_t n) {
    for (size_t i = k; i-- > 0;)
        if (s[i] < n - k + i) {
            s[i]++;
            for (size_t j = i + 1; j < k; j++) s[j] = s[j - 1] + 1;
            return 1;
        }
    return 0;
}

/* ---- rules that mix rows: out = sum_i w_i x_i ---- */
static inline void ref_mix(const agg_real *const *x, size_t n, size_t dim, const double *w,
                           ref_num total, ref_num *out, ref_num *mag) {
    for (size_t k = 0; k < dim; k++) {
        ref_num sum = 0, top = 0;
        for (size_t i = 0; i < n; i++)
            if (w[i] > 0) {
                sum += (ref_num)w[i] * (ref_num)x[i][k];
                if (ref_abs((ref_num)x[i][k]) > top) top = ref_abs((ref_num)x[i][k]);
            }
        out[k] = sum / total;
        if (mag) mag[k] = top;
    }
}

static inline void ref_mean_of(const agg_real *const *x, size_t n, size_t dim, const size_t *s,
                               size_t count, ref_num *out, double *w, ref_num *mag) {
    double *one = (double *)ref_alloc(n, sizeof *one);
    for (size_t i = 0; i < count; i++) one[s[i]] = 1;
    ref_mix(x, n, dim, one, (ref_num)count, out, mag);
    if (w)
        for (size_t i = 0; i < n; i++) w[i] = one[i] / (double)count;
    free(one);
}

static inline void ref_mean_of_first(const agg_real *const *x, size_t n, size_t dim,
                                     const ref_item *items, size_t count, ref_num *out, double *w,
                                     ref_num *mag) {
    size_t *s = (size_t *)ref_alloc(count, sizeof *s);
    for (size_t i = 0; i < count; i++) s[i] = items[i].row;
    ref_mean_of(x, n, dim, s, count, out, w, mag);
    free(s);
}

static inline void ref_mean(const agg_real *const *x, size_t n, size_t dim, ref_num *out, double *w,
                            ref_num *mag) {
    size_t *s = (size_t *)ref_alloc(n, sizeof *s);
    ref_first_subset(s, n);
    ref_mean_of(x, n, dim, s, n, out, w, mag);
    free(s);
}

/* MDA */
static inline ref_num ref_diameter2(const ref_num *d2, size_t n, const size_t *s, size_t k) {
    ref_num top = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < i; j++)
            if (d2[s[i] * n + s[j]] > top) top = d2[s[i] * n + s[j]];
    return top;
}

/* every subset */
static inline ref_num ref_mda_set(const ref_num *d2, size_t n, size_t f, size_t *best) {
    const size_t k = n - f;
    size_t *s = (size_t *)ref_alloc(k, sizeof *s);
    ref_num least = -1;
    ref_first_subset(s, k);
    do {
        ref_num d = ref_diameter2(d2, n, s, k);
        if (least < 0 || d < least) {
            least = d;
            memcpy(best, s, k * sizeof *s);
        }
    } while (ref_next_subset(s, k, n));
    free(s);
    return least;
}

/* The same by depth-first search in the same order, leaving a branch as soon as it cannot be
   strictly better. */
typedef struct ref_search {
    const ref_num *d2;
    size_t n, k;
    size_t *s, *best;
    ref_num least;
} ref_search;

static inline void ref_search_from(ref_search *q, size_t depth, size_t from, ref_num diameter) {
    if (depth == q->k) {
        q->least = diameter;
        memcpy(q->best, q->s, q->k * sizeof *q->s);
        return;
    }
    for (size_t i = from; i + (q->k - depth) <= q->n; i++) {
        ref_num d = diameter;
        for (size_t j = 0; j < depth; j++)
            if (q->d2[i * q->n + q->s[j]] > d) d = q->d2[i * q->n + q->s[j]];
        if (q->least >= 0 && d >= q->least) continue;
        q->s[depth] = i;
        ref_search_from(q, depth + 1, i + 1, d);
    }
}

static inline ref_num ref_mda_set_pruned(const ref_num *d2, size_t n, size_t f, size_t *best) {
    ref_search q;
    q.d2 = d2;
    q.n = n;
    q.k = n - f;
    q.best = best;
    q.least = -1;
    q.s = (size_t *)ref_alloc(q.k, sizeof *q.s);
    ref_search_from(&q, 0, 0, 0);
    free(q.s);
    return q.least;
}

static inline ref_num ref_mda(const agg_real *const *x, size_t n, size_t dim, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    ref_num *d2 = ref_distances2(x, n, dim), least;
    size_t *s = (size_t *)ref_alloc(n, sizeof *s);
    least = n <= 12 ? ref_mda_set(d2, n, f, s) : ref_mda_set_pruned(d2, n, f, s);
    ref_mean_of(x, n, dim, s, n - f, out, w, mag);
    free(d2);
    free(s);
    return ref_sqrt(least);
}

/* Krum: row i's distances to the others, least first: n-1 items */
static inline void ref_neighbours(const ref_num *d2, size_t n, size_t i, ref_item *items) {
    size_t m = 0;
    for (size_t j = 0; j < n; j++)
        if (j != i) {
            items[m].key = d2[i * n + j];
            items[m++].row = j;
        }
    ref_sort(items, m);
}

/* the sum of the first `neighbours` of n sorted distances, to rows that are alive */
static inline ref_num ref_krum_score(const ref_item *sorted, size_t n, const char *alive,
                                     size_t neighbours) {
    ref_num sum = 0;
    for (size_t j = 0; j < n && neighbours > 0; j++)
        if (alive[sorted[j].row]) {
            sum += sorted[j].key;
            neighbours--;
        }
    return sum;
}

static inline size_t ref_krum_neighbours(size_t m, size_t f, int classic) {
    const size_t less = f + (classic ? 2 : 1);
    return m > less ? m - less : 0;
}

/* best first */
static inline void ref_krum_order(const ref_num *d2, size_t n, size_t f, int classic,
                                  ref_item *items) {
    ref_item *sorted = (ref_item *)ref_alloc(n, sizeof *sorted);
    char *alive = (char *)ref_alloc(n, 1);
    memset(alive, 1, n);
    for (size_t i = 0; i < n; i++) {
        ref_neighbours(d2, n, i, sorted);
        items[i].row = i;
        items[i].key = ref_krum_score(sorted, n - 1, alive, ref_krum_neighbours(n, f, classic));
    }
    ref_sort(items, n);
    free(alive);
    free(sorted);
}

static inline void ref_multi_krum(const agg_real *const *x, size_t n, size_t dim, size_t f,
                                  int classic, size_t q, ref_num *out, double *w, ref_num *mag) {
    ref_num *d2 = ref_distances2(x, n, dim);
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_krum_order(d2, n, f, classic, items);
    ref_mean_of_first(x, n, dim, items, q, out, w, mag);
    free(d2);
    free(items);
}

/* CGE, MoNNA */
static inline void ref_cge(const agg_real *const *x, size_t n, size_t dim, size_t f, ref_num *out,
                           double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = ref_norm2(x[i], dim);
    }
    ref_sort(items, n);
    ref_mean_of_first(x, n, dim, items, n - f, out, w, mag);
    free(items);
}

static inline void ref_nearest(const agg_real *const *x, size_t n, size_t dim, size_t pivot,
                               ref_item *items) {
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = i == pivot ? -1 : ref_dist2(x[i], x[pivot], dim);
    }
    ref_sort(items, n); /* the pivot itself comes first */
}

static inline void ref_monna(const agg_real *const *x, size_t n, size_t dim, size_t f, size_t pivot,
                             ref_num *out, double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_nearest(x, n, dim, pivot, items);
    ref_mean_of_first(x, n, dim, items, n - f, out, w, mag);
    free(items);
}

/* ---- coordinate-wise rules ---- */
/* sorted by value */
static inline void ref_column(const agg_real *const *x, size_t n, size_t k, ref_item *items) {
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = (ref_num)x[i][k];
    }
    ref_sort(items, n);
}

/* of the values x_.k of these rows */
static inline void ref_average(const agg_real *const *x, size_t k, size_t dim,
                               const ref_item *items, size_t count, ref_num *out, double *w,
                               ref_num *mag) {
    ref_num sum = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        ref_num v = (ref_num)x[items[i].row][k];
        sum += v;
        if (ref_abs(v) > top) top = ref_abs(v);
        if (w) w[items[i].row] += 1.0 / (double)count / (double)dim;
    }
    out[k] = sum / (ref_num)count;
    if (mag) mag[k] = top;
}

static inline void ref_cwtm(const agg_real *const *x, size_t n, size_t dim, size_t f, ref_num *out,
                            double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    if (w) memset(w, 0, n * sizeof *w);
    for (size_t k = 0; k < dim; k++) {
        ref_column(x, n, k, items);
        ref_average(x, k, dim, items + f, n - 2 * f, out, w, mag);
    }
    free(items);
}

static inline void ref_cwmed(const agg_real *const *x, size_t n, size_t dim, ref_num *out,
                             double *w, ref_num *mag) {
    ref_cwtm(x, n, dim, (n - 1) / 2, out, w, mag); /* all but the middle one or two */
}

static inline void ref_meamed_keep(const agg_real *const *x, size_t n, size_t dim, size_t keep,
                                   ref_num *out, double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    if (w) memset(w, 0, n * sizeof *w);
    for (size_t k = 0; k < dim; k++) {
        ref_column(x, n, k, items);
        const ref_num median = ref_median(items, n);
        for (size_t i = 0; i < n; i++) items[i].key = ref_abs(items[i].key - median);
        ref_sort(items, n);
        ref_average(x, k, dim, items, keep, out, w, mag);
    }
    free(items);
}

static inline void ref_meamed(const agg_real *const *x, size_t n, size_t dim, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    ref_meamed_keep(x, n, dim, n - f, out, w, mag);
}

/* n-2f rows */
static inline void ref_bulyan_picks(const ref_num *d2, size_t n, size_t f, int classic,
                                    size_t *picks) {
    ref_item *sorted = (ref_item *)ref_alloc(n * n, sizeof *sorted);
    char *alive = (char *)ref_alloc(n, 1);
    memset(alive, 1, n);
    for (size_t i = 0; i < n; i++) ref_neighbours(d2, n, i, sorted + i * n);
    for (size_t p = 0; p < n - 2 * f; p++) {
        const size_t neighbours = ref_krum_neighbours(n - p, f, classic);
        size_t best = n;
        ref_num least = 0;
        for (size_t i = 0; i < n; i++) {
            if (!alive[i]) continue;
            const ref_num score = ref_krum_score(sorted + i * n, n - 1, alive, neighbours);
            if (best == n || score < least) {
                best = i;
                least = score;
            }
        }
        alive[best] = 0;
        picks[p] = best;
    }
    free(alive);
    free(sorted);
}

static inline void ref_bulyan_of(const agg_real *const *x, size_t n, size_t dim, size_t f,
                                 const size_t *picks, ref_num *out, double *w, ref_num *mag) {
    const size_t m = n - 2 * f;
    const agg_real **y = (const agg_real **)ref_alloc(m, sizeof *y);
    double *part = (double *)ref_alloc(m, sizeof *part);
    char *in = (char *)ref_alloc(n, 1);
    size_t j = 0;
    for (size_t p = 0; p < m; p++) in[picks[p]] = 1;
    for (size_t i = 0; i < n; i++)
        if (in[i]) y[j++] = x[i]; /* by row, so that ties go to the lower one */
    ref_meamed_keep(y, m, dim, m - 2 * f, out, part, mag);
    j = 0;
    if (w)
        for (size_t i = 0; i < n; i++) w[i] = in[i] ? part[j++] : 0;
    free(y);
    free(part);
    free(in);
}

static inline void ref_bulyan(const agg_real *const *x, size_t n, size_t dim, size_t f, int classic,
                              ref_num *out, double *w, ref_num *mag) {
    ref_num *d2 = ref_distances2(x, n, dim);
    size_t *picks = (size_t *)ref_alloc(n, sizeof *picks);
    ref_bulyan_picks(d2, n, f, classic, picks);
    ref_bulyan_of(x, n, dim, f, picks, out, w, mag);
    free(d2);
    free(picks);
}

/* ---- eigenvalues: cyclic Jacobi. a: m x m symmetric, its diagonal becomes the eigenvalues; v:
   columns the vectors ---- */
static inline void ref_rotate(ref_num *a, ref_num *v, size_t m, size_t p, size_t q) {
    const ref_num theta = (a[q * m + q] - a[p * m + p]) / (2 * a[p * m + q]);
    const ref_num t = (theta < 0 ? -1 : 1) / (ref_abs(theta) + ref_sqrt(theta * theta + 1));
    const ref_num c = 1 / ref_sqrt(t * t + 1), s = t * c;
    for (size_t i = 0; i < m; i++) {
        const ref_num ip = a[i * m + p], iq = a[i * m + q];
        a[i * m + p] = c * ip - s * iq;
        a[i * m + q] = s * ip + c * iq;
    }
    for (size_t i = 0; i < m; i++) {
        const ref_num pi = a[p * m + i], qi = a[q * m + i], vp = v[i * m + p], vq = v[i * m + q];
        a[p * m + i] = c * pi - s * qi;
        a[q * m + i] = s * pi + c * qi;
        v[i * m + p] = c * vp - s * vq;
        v[i * m + q] = s * vp + c * vq;
    }
    a[p * m + q] = a[q * m + p] = 0;
}

static inline void ref_jacobi(ref_num *a, ref_num *v, size_t m) {
    for (size_t i = 0; i < m * m; i++) v[i] = i % (m + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        ref_num off = 0, all = 0;
        for (size_t i = 0; i < m * m; i++) {
            all += a[i] * a[i];
            if (i % (m + 1)) off += a[i] * a[i];
        }
        if (off <= all * (ref_num)1e-38L) return;
        for (size_t p = 0; p < m; p++)
            for (size_t q = p + 1; q < m; q++)
                if (a[p * m + q] > 0 || a[p * m + q] < 0) ref_rotate(a, v, m, p, q);
    }
}

/* covariance sum_i c_i (x_i-mu)(x_i-mu)^T / sum c through its m x m Gram matrix. Returns the top
   eigenvalue;
   mu: dim; along (may be NULL): (x_i-mu).v for the top eigenvector v; second (may be NULL): the
   next eigenvalue. */
static inline ref_num ref_top_eigenvalue(const agg_real *const *x, size_t m, size_t dim,
                                         const ref_num *c, ref_num *mu, ref_num *along,
                                         ref_num *second) {
    ref_num *y = ref_new(m * dim), *gram = ref_new(m * m), *a = ref_new(m * m), *v = ref_new(m * m),
            total = 0, value;
    size_t top = 0;
    for (size_t i = 0; i < m; i++) total += c[i];
    for (size_t k = 0; k < dim; k++) {
        mu[k] = 0;
        for (size_t i = 0; i < m; i++)
            if (c[i] > 0) mu[k] += c[i] * (ref_num)x[i][k] / total;
        for (size_t i = 0; i < m; i++) y[i * dim + k] = (ref_num)x[i][k] - mu[k];
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            ref_num dot = 0;
            for (size_t k = 0; k < dim; k++) dot += y[i * dim + k] * y[j * dim + k];
            gram[i * m + j] = dot;
            a[i * m + j] = dot * ref_sqrt(c[i]) * ref_sqrt(c[j]) / total;
        }
    ref_jacobi(a, v, m);
    for (size_t i = 1; i < m; i++)
        if (a[i * m + i] > a[top * m + top]) top = i;
    value = a[top * m + top];
    if (second) {
        *second = 0;
        for (size_t i = 0; i < m; i++)
            if (i != top && a[i * m + i] > *second) *second = a[i * m + i];
    }
    /* v = sum_j b_j sqrt(c_j) y_j / norm with b the eigenvector of the Gram matrix, norm^2 = value
       total */
    if (along) {
        for (size_t i = 0; i < m; i++) {
            along[i] = 0;
            for (size_t j = 0; j < m; j++)
                along[i] += gram[i * m + j] * ref_sqrt(c[j]) * v[j * m + top];
            if (value > 0) along[i] /= ref_sqrt(value * total);
        }
    }
    free(y);
    free(gram);
    free(a);
    free(v);
    return value;
}

static inline ref_num ref_subset_eigenvalue(const agg_real *const *x, size_t dim, const size_t *s,
                                            size_t k) {
    const agg_real **y = (const agg_real **)ref_alloc(k, sizeof *y);
    ref_num *one = ref_new(k), *mu = ref_new(dim), value;
    for (size_t i = 0; i < k; i++) {
        y[i] = x[s[i]];
        one[i] = 1;
    }
    value = ref_top_eigenvalue(y, k, dim, one, mu, NULL, NULL);
    free(y);
    free(one);
    free(mu);
    return value;
}

static inline ref_num ref_smea(const agg_real *const *x, size_t n, size_t dim, size_t f,
                               ref_num *out, double *w, ref_num *mag) {
    const size_t k = n - f;
    size_t *s = (size_t *)ref_alloc(k, sizeof *s), *best = (size_t *)ref_alloc(k, sizeof *best);
    ref_num least = -1;
    ref_first_subset(s, k);
    do {
        ref_num value = ref_subset_eigenvalue(x, dim, s, k);
        /* eigenvalues are rounded: equal ones stay with the first */
        if (least < 0 || value < least * (ref_num)(1 - 1e-9)) {
            least = value;
            memcpy(best, s, k * sizeof *s);
        }
    } while (ref_next_subset(s, k, n));
    ref_mean_of(x, n, dim, best, k, out, w, mag);
    free(s);
    free(best);
    return least;
}

/* Returns how well posed the answer is: the least relative distance between two numbers the filter
   had to compare (top and second eigenvalue, farthest and next row, best and second best mean).
   Near 0 the answer
   hangs on rounding. */
static inline ref_num ref_caf(const agg_real *const *x, size_t n, size_t dim, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    ref_num *c = ref_new(n), *mu = ref_new(dim), *along = ref_new(n), best = -1, posed = 1,
            sum = (ref_num)n;
    double *bestw = (double *)ref_alloc(n, sizeof *bestw);
    for (size_t i = 0; i < n; i++) c[i] = 1;
    for (;;) {
        ref_num second, value = ref_top_eigenvalue(x, n, dim, c, mu, along, &second), top = 0;
        if (value > 0 && 1 - second / value < posed) posed = 1 - second / value;
        if (best > 0 && ref_abs(value / best - 1) < posed) posed = ref_abs(value / best - 1);
        if (best < 0 || value < best) {
            best = value;
            for (size_t i = 0; i < n; i++) bestw[i] = (double)(c[i] / sum);
            for (size_t k = 0; k < dim; k++) out[k] = mu[k];
        }
        for (size_t i = 0; i < n; i++)
            if (c[i] > 0 && along[i] * along[i] > top) top = along[i] * along[i];
        if (f == 0 || !(top > 0)) break;
        for (size_t i = 0, met = 0; i < n; i++) {
            const ref_num near = 1 - along[i] * along[i] / top;
            if (c[i] > 0 && near <= 0 && !met)
                met = 1; /* the farthest one itself */
            else if (c[i] > 0 && near < posed)
                posed = near;
        }
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            if (c[i] > 0) c[i] *= 1 - along[i] * along[i] / top;
            if (c[i] < 0) c[i] = 0;
            sum += c[i];
        }
        if (sum <= (ref_num)(n - 2 * f)) break;
    }
    if (mag)
        for (size_t k = 0; k < dim; k++) {
            mag[k] = 0;
            for (size_t i = 0; i < n; i++)
                if (bestw[i] > 0 && ref_abs((ref_num)x[i][k]) > mag[k])
                    mag[k] = ref_abs((ref_num)x[i][k]);
        }
    if (w) memcpy(w, bestw, n * sizeof *w);
    free(c);
    free(mu);
    free(along);
    free(bestw);
    return posed;
}

/* ---- centred clipping; start may be NULL; the share of a given start in out is 1 - sum w ---- */
static inline ref_num ref_distance_to(const agg_real *a, const ref_num *v, size_t dim) {
    ref_num sum = 0;
    for (size_t k = 0; k < dim; k++) sum += ((ref_num)a[k] - v[k]) * ((ref_num)a[k] - v[k]);
    return ref_sqrt(sum);
}

static inline ref_num ref_cclip(const agg_real *const *x, size_t n, size_t dim,
                                const agg_real *start, double tau_or_0, size_t iterations,
                                ref_num *out, double *w, ref_num *mag) {
    ref_num *v = ref_new(dim), *step = ref_new(dim), *size = ref_new(dim), *s = ref_new(n),
            tau = (ref_num)tau_or_0;
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    double *share = (double *)ref_alloc(n, sizeof *share);
    if (start)
        for (size_t k = 0; k < dim; k++) v[k] = (ref_num)start[k];
    else /* the rows that make the median share in what is kept of it */
        ref_cwmed(x, n, dim, v, share, size);
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = ref_distance_to(x[i], v, dim);
    }
    ref_sort(items, n);
    if (!(tau > 0)) tau = ref_median(items, n);
    for (size_t t = 0; t < iterations; t++) {
        ref_num moved = 0;
        for (size_t i = 0; i < n; i++) {
            const ref_num r = ref_distance_to(x[i], v, dim);
            s[i] = (r > tau ? tau / r : 1) / (ref_num)n;
            moved += s[i];
        }
        for (size_t k = 0; k < dim; k++) {
            step[k] = 0;
            for (size_t i = 0; i < n; i++) step[k] += s[i] * ((ref_num)x[i][k] - v[k]);
        }
        for (size_t k = 0; k < dim; k++) v[k] += step[k];
        for (size_t i = 0; i < n; i++) share[i] = (double)((ref_num)share[i] * (1 - moved) + s[i]);
    }
    for (size_t k = 0; k < dim; k++) {
        out[k] = v[k];
        if (!mag) continue;
        mag[k] = ref_abs(v[k]) + tau + (start ? ref_abs((ref_num)start[k]) : size[k]);
        for (size_t i = 0; i < n; i++) mag[k] += (ref_num)share[i] * ref_abs((ref_num)x[i][k]);
    }
    if (w) memcpy(w, share, n * sizeof *w);
    free(v);
    free(step);
    free(size);
    free(s);
    free(items);
    free(share);
    return tau;
}

/* ---- the rules of peers. Those that return a number say how well posed the answer is: the least
   relative distance between two numbers that decided something ---- */
static inline void ref_closer(ref_num *posed, ref_num a, ref_num b) {
    const ref_num top = ref_abs(a) > ref_abs(b) ? ref_abs(a) : ref_abs(b);
    if (top > 0 && ref_abs(a - b) / top < *posed) *posed = ref_abs(a - b) / top;
}

/* center: rounded to agg_real, as a rule that measures distances from it has it */
static inline agg_real *ref_rounded_median(const agg_real *const *x, size_t n, size_t dim) {
    agg_real *center = (agg_real *)ref_alloc(dim, sizeof *center);
    ref_num *median = ref_new(dim);
    ref_cwmed(x, n, dim, median, NULL, NULL);
    for (size_t k = 0; k < dim; k++) center[k] = (agg_real)median[k];
    free(median);
    return center;
}

static inline void ref_aksel_keys(const agg_real *const *x, size_t n, size_t dim, ref_item *items) {
    agg_real *center = ref_rounded_median(x, n, dim);
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = ref_dist2(x[i], center, dim);
    }
    free(center);
}

/* coordinate k belongs to block[k] */
static inline void ref_gas_keys(const agg_real *const *x, size_t n, size_t dim, size_t blocks,
                                agg_rng random, ref_item *items) {
    agg_real *center = ref_rounded_median(x, n, dim);
    size_t *block = (size_t *)ref_alloc(dim, sizeof *block);
    ref_num *sum = ref_new(blocks);
    for (size_t k = 0; k < dim; k++) block[k] = k % blocks;
    for (size_t k = dim - 1; k > 0; k--) {
        const size_t j = (size_t)(random.next(random.self) % (uint64_t)(k + 1)), t = block[k];
        block[k] = block[j];
        block[j] = t;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = 0;
        for (size_t b = 0; b < blocks; b++) sum[b] = 0;
        for (size_t k = 0; k < dim; k++) sum[block[k]] += ref_dist2(x[i] + k, center + k, 1);
        for (size_t b = 0; b < blocks; b++) items[i].key += ref_sqrt(sum[b]);
    }
    free(center);
    free(block);
    free(sum);
}

static inline void ref_least(const agg_real *const *x, size_t n, size_t dim, size_t keep,
                             ref_item *items, ref_num *out, double *w, ref_num *mag) {
    ref_sort(items, n);
    ref_mean_of_first(x, n, dim, items, keep, out, w, mag);
}

static inline void ref_aksel(const agg_real *const *x, size_t n, size_t dim, size_t f, ref_num *out,
                             double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_aksel_keys(x, n, dim, items);
    ref_least(x, n, dim, n - f, items, out, w, mag);
    free(items);
}

static inline size_t ref_gas_blocks(const agg_desc *d) {
    const size_t blocks = d->blocks ? d->blocks : 1000;
    return blocks < d->dim ? blocks : d->dim;
}

static inline ref_num ref_gas(const agg_desc *d, const agg_real *const *x, size_t n, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_num posed = 1;
    ref_gas_keys(x, n, d->dim, ref_gas_blocks(d), d->rng, items);
    ref_least(x, n, d->dim, n - f, items, out, w, mag);
    if (f) ref_closer(&posed, items[n - f - 1].key, items[n - f].key);
    free(items);
    return posed;
}

static inline size_t ref_share_of(const agg_desc *d, double fallback) {
    const size_t m = (size_t)((d->share > 0 ? d->share : fallback) * (double)d->dim);
    return m > d->dim ? d->dim : m ? m : 1;
}

/* each of m coordinates is taken with the chance that it has */
static inline void ref_draw_places(size_t dim, size_t m, agg_rng random, size_t *place) {
    for (size_t k = 0, got = 0; got < m; k++)
        if (random.next(random.self) % (uint64_t)(dim - k) < (uint64_t)(m - got)) place[got++] = k;
}

/* items: the rows by how far they are off along the top direction of m of their coordinates */
static inline ref_num ref_dnc_order(const agg_desc *d, const agg_real *const *x, size_t n, size_t f,
                                    size_t m, ref_item *items) {
    size_t *place = (size_t *)ref_alloc(m, sizeof *place);
    agg_real *data = (agg_real *)ref_alloc(n * m, sizeof *data);
    const agg_real **row = (const agg_real **)ref_alloc(n, sizeof *row);
    ref_num *one = ref_new(n), *mu = ref_new(m), *along = ref_new(n), second, value, posed = 1;
    ref_draw_places(d->dim, m, d->rng, place);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++) data[i * m + k] = x[i][place[k]];
        row[i] = data + i * m;
        one[i] = 1;
    }
    value = ref_top_eigenvalue(row, n, m, one, mu, along, &second);
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = along[i] * along[i];
    }
    ref_sort(items, n);
    if (f && value > 0) {
        ref_closer(&posed, value, second);
        ref_closer(&posed, items[n - f - 1].key, items[n - f].key);
        if (!(items[n - f].key > value * (ref_num)1e-9)) posed = 0;
    }
    free(place);
    free(data);
    free(row);
    free(one);
    free(mu);
    free(along);
    return posed;
}

static inline ref_num ref_dnc(const agg_desc *d, const agg_real *const *x, size_t n, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    const size_t times = d->iterations ? d->iterations : 5, m = ref_share_of(d, 0.2);
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    size_t *kept = (size_t *)ref_alloc(n, sizeof *kept), *s = (size_t *)ref_alloc(n, sizeof *s);
    size_t most = 0, count = 0;
    ref_num posed = 1;
    for (size_t t = 0; t < times; t++) {
        const ref_num p = ref_dnc_order(d, x, n, f, m, items);
        if (p < posed) posed = p;
        for (size_t i = 0; i < n - f; i++) kept[items[i].row]++;
    }
    for (size_t i = 0; i < n; i++)
        if (kept[i] > most) most = kept[i];
    for (size_t i = 0; i < n; i++)
        if (kept[i] == most) s[count++] = i;
    ref_mean_of(x, n, d->dim, s, count, out, w, mag);
    free(items);
    free(kept);
    free(s);
    return posed;
}

/* FLTrust; mag: the norm of g */
static inline ref_num ref_fltrust(const agg_real *const *x, size_t n, size_t dim, const agg_real *g,
                                  ref_num *out, double *w, ref_num *mag) {
    const ref_num length = ref_sqrt(ref_norm2(g, dim));
    ref_num *cosine = ref_new(n), *norm = ref_new(n), total = 0;
    for (size_t i = 0; i < n; i++) {
        ref_num dot = 0;
        norm[i] = ref_sqrt(ref_norm2(x[i], dim));
        for (size_t k = 0; k < dim; k++) dot += (ref_num)x[i][k] * (ref_num)g[k];
        if (dot > 0) cosine[i] = dot / norm[i] / length;
        total += cosine[i];
    }
    for (size_t k = 0; k < dim; k++) {
        out[k] = total > 0 ? 0 : (ref_num)g[k];
        for (size_t i = 0; i < n; i++)
            if (cosine[i] > 0) out[k] += cosine[i] / total * (ref_num)x[i][k] * (length / norm[i]);
        if (out[k] > (ref_num)REAL_MAX) out[k] = (ref_num)REAL_MAX;
        if (out[k] < -(ref_num)REAL_MAX) out[k] = -(ref_num)REAL_MAX;
        if (mag) mag[k] = length;
    }
    for (size_t i = 0; w && i < n; i++) w[i] = (double)(total > 0 ? cosine[i] / total : 0);
    free(cosine);
    free(norm);
    return total;
}

/* SignGuard. The features are doubles, squared and added as they come: which are equally far is
   defined by that. */
static inline double ref_sign_distance(const double *a, const double *b) {
    const double p = a[0] - b[0], q = a[1] - b[1], r = a[2] - b[2];
    return p * p + q * q + r * r;
}

static inline void ref_sign_features(const agg_real *const *x, size_t n, const char *in, size_t at,
                                     size_t m, double *feature) {
    double most[3] = {1, 1, 1};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = at; k < at + m; k++)
            feature[3 * i + (x[i][k] > 0 ? 0 : x[i][k] < 0 ? 2 : 1)]++;
        for (size_t p = 0; p < 3; p++)
            if (in[i] && feature[3 * i + p] > most[p]) most[p] = feature[3 * i + p];
    }
    for (size_t i = 0; i < 3 * n; i++) feature[i] /= most[i % 3];
}

/* of the rows that are in, those of the fullest ball stay */
static inline void ref_sign_cluster(const double *feature, size_t n, char *in) {
    ref_item *off = (ref_item *)ref_alloc(n, sizeof *off);
    ref_item *reach = (ref_item *)ref_alloc(n, sizeof *reach);
    size_t m = 0, count, best = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!in[i]) continue;
        count = 0;
        for (size_t j = 0; j < n; j++)
            if (in[j])
                off[count++].key = (ref_num)ref_sign_distance(feature + 3 * i, feature + 3 * j);
        ref_sort(off, count);
        reach[m++].key = off[count / 2].key;
    }
    ref_sort(reach, m);
    const ref_num radius = reach[(m - 1) / 2].key;
    for (size_t i = 0; i < n; i++) {
        count = 0;
        for (size_t j = 0; j < n; j++)
            count += in[i] && in[j] &&
                     (ref_num)ref_sign_distance(feature + 3 * i, feature + 3 * j) <= radius;
        if (count > most) {
            most = count;
            best = i;
        }
    }
    for (size_t j = 0; j < n; j++)
        if (in[j])
            in[j] = (ref_num)ref_sign_distance(feature + 3 * best, feature + 3 * j) <= radius;
    free(off);
    free(reach);
}

static inline ref_num ref_signguard(const agg_desc *d, const agg_real *const *x, size_t n,
                                    ref_num *out, double *w, ref_num *mag) {
    const size_t m = ref_share_of(d, 0.1);
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    double *feature = (double *)ref_alloc(3 * n, sizeof *feature), count = 0;
    char *in = (char *)ref_alloc(n, 1);
    ref_num posed = 1, median;
    for (size_t i = 0; i < n; i++) {
        items[i].row = i;
        items[i].key = ref_sqrt(ref_norm2(x[i], d->dim));
    }
    ref_sort(items, n);
    median = ref_median(items, n);
    for (size_t i = 0; i < n; i++) {
        const ref_num norm = ref_sqrt(ref_norm2(x[i], d->dim));
        in[i] = norm >= median / 10 && norm <= 3 * median;
        ref_closer(&posed, norm, median / 10);
        ref_closer(&posed, norm, 3 * median);
    }
    ref_sign_features(x, n, in, (size_t)(d->rng.next(d->rng.self) % (uint64_t)(d->dim - m + 1)), m,
                      feature);
    ref_sign_cluster(feature, n, in);
    for (size_t i = 0; i < n; i++) count += in[i];
    for (size_t k = 0; k < d->dim; k++) {
        ref_num top = 0;
        out[k] = 0;
        for (size_t i = 0; i < n; i++) {
            const ref_num norm = ref_sqrt(ref_norm2(x[i], d->dim)),
                          part = norm > median ? median / norm : 1;
            if (w && !k) w[i] = in[i] ? (double)part / count : 0;
            if (!in[i]) continue;
            out[k] += part * (ref_num)x[i][k] / (ref_num)count;
            if (ref_abs((ref_num)x[i][k]) > top) top = ref_abs((ref_num)x[i][k]);
        }
        if (mag) mag[k] = top;
    }
    free(items);
    free(feature);
    free(in);
    return posed;
}

static inline void ref_winsor(const agg_real *const *x, size_t n, size_t dim, size_t f,
                              ref_num *out, double *w, ref_num *mag) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_cwtm(x, n, dim, f, out, w, mag); /* for w and mag */
    for (size_t k = 0; k < dim; k++) {
        ref_column(x, n, k, items);
        out[k] = 0;
        for (size_t i = 0; i < n; i++)
            out[k] += items[i < f ? f : i < n - f ? i : n - f - 1].key / (ref_num)n;
    }
    free(items);
}

/* returns how far from 0 the numbers are that voted */
static inline ref_num ref_sign_vote(const agg_real *const *x, size_t n, size_t dim, ref_num *out,
                                    double *w, ref_num *mag) {
    ref_num posed = 1;
    double total = 0, *agreed = (double *)ref_alloc(n, sizeof *agreed);
    for (size_t k = 0; k < dim; k++) {
        int vote = 0;
        ref_num top = 0;
        for (size_t i = 0; i < n; i++) {
            vote += (x[i][k] > 0) - (x[i][k] < 0);
            if (ref_abs((ref_num)x[i][k]) > top) top = ref_abs((ref_num)x[i][k]);
        }
        out[k] = (vote > 0) - (vote < 0);
        if (mag) mag[k] = 0;
        for (size_t i = 0; i < n; i++) {
            const int sign = (x[i][k] > 0) - (x[i][k] < 0);
            agreed[i] += sign == (vote > 0) - (vote < 0);
            if (ref_abs((ref_num)x[i][k]) < posed * top) posed = ref_abs((ref_num)x[i][k]) / top;
        }
    }
    for (size_t i = 0; i < n; i++) total += agreed[i];
    for (size_t i = 0; w && i < n; i++) w[i] = total > 0 ? agreed[i] / total : 1 / (double)n;
    free(agreed);
    return posed;
}

/* FedPG: the rows within a squared radius of the dense row in the middle of the dense ones */
static inline size_t ref_fedpg_try(const ref_num *d2, size_t n, ref_num radius2, size_t *good,
                                   ref_num *posed) {
    char *dense = (char *)ref_alloc(n, 1);
    ref_num least = -1;
    size_t center = n, count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t within = 0;
        for (size_t j = 0; j < n; j++) {
            within += d2[i * n + j] <= radius2;
            if (d2[i * n + j] < radius2 || d2[i * n + j] > radius2)
                ref_closer(posed, d2[i * n + j], radius2);
        }
        dense[i] = 2 * within > n;
    }
    for (size_t i = 0; i < n; i++) {
        ref_num sum = 0;
        for (size_t j = 0; j < n; j++)
            if (dense[j]) sum += d2[i * n + j];
        if (!dense[i]) continue;
        if (least >= 0) ref_closer(posed, sum, least);
        if (least < 0 || sum < least) {
            least = sum;
            center = i;
        }
    }
    for (size_t i = 0; i < n && center < n; i++)
        if (d2[center * n + i] <= radius2) good[count++] = i;
    free(dense);
    return count;
}

/* the smallest squared radius of n-f rows around one of them */
static inline ref_num ref_ball2(const ref_num *d2, size_t n, size_t f) {
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    ref_num least = -1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) items[j].key = d2[i * n + j];
        ref_sort(items, n);
        if (least < 0 || items[n - f - 1].key < least) least = items[n - f - 1].key;
    }
    free(items);
    return least;
}

static inline ref_num ref_fedpg(const agg_desc *d, const agg_real *const *x, size_t n, size_t f,
                                ref_num *out, double *w, ref_num *mag) {
    const double delta = d->delta > 0 ? d->delta : 0.6, batch = d->batch ? (double)d->batch : 16;
    const ref_num over = 2 * (ref_num)log(2 * (double)n / delta) / (ref_num)batch; /* V/B */
    ref_num *d2 = ref_distances2(x, n, d->dim), posed = 1, ball2 = ref_ball2(d2, n, f), first2;
    size_t *good = (size_t *)ref_alloc(n, sizeof *good), count;
    first2 = d->sigma > 0 ? 4 * (ref_num)d->sigma * (ref_num)d->sigma * over : ball2;
    count = ref_fedpg_try(d2, n, first2, good, &posed);
    if (count < n - f) count = ref_fedpg_try(d2, n, first2 / over, good, &posed);
    if (!count) count = ref_fedpg_try(d2, n, ball2, good, &posed);
    ref_mean_of(x, n, d->dim, good, count, out, w, mag);
    free(d2);
    free(good);
    return posed;
}

/* ---- geometric median to about 1e-15, certified by its dual ----
   min_z sum ||z - x_i|| = max sum u_i.x_i over sum u_i = 0, ||u_i|| <= 1: any such u proves a lower
   bound. */
static inline ref_num ref_gm_value(const agg_real *const *x, size_t n, size_t dim,
                                   const ref_num *z) {
    ref_num sum = 0;
    for (size_t i = 0; i < n; i++) sum += ref_distance_to(x[i], z, dim);
    return sum;
}

/* y: orthonormal coordinates (n x n, r of them used) of the rows relative to row `origin`; basis: r
   rows of dim */
static inline size_t ref_flatten(const agg_real *const *x, size_t n, size_t dim, size_t origin,
                                 ref_num *y, ref_num *basis) {
    ref_num *v = ref_new(dim);
    size_t r = 0;
    for (size_t i = 0; i < n; i++) {
        ref_num before = 0, after = 0;
        for (size_t k = 0; k < dim; k++) {
            v[k] = (ref_num)x[i][k] - (ref_num)x[origin][k];
            before += v[k] * v[k];
        }
        for (int twice = 0; twice < 2; twice++)
            for (size_t b = 0; b < r; b++) {
                ref_num dot = 0;
                for (size_t k = 0; k < dim; k++) dot += v[k] * basis[b * dim + k];
                for (size_t k = 0; k < dim; k++) v[k] -= dot * basis[b * dim + k];
                y[i * n + b] += dot;
            }
        for (size_t k = 0; k < dim; k++) after += v[k] * v[k];
        /* relative length 1e-17: more than rounding */
        if (r + 1 < n && r < dim && after > before * (ref_num)1e-34L) {
            y[i * n + r] = ref_sqrt(after);
            for (size_t k = 0; k < dim; k++) basis[r * dim + k] = v[k] / y[i * n + r];
            r++;
        }
    }
    free(v);
    return r;
}

static inline ref_num ref_flat_distance(const ref_num *a, const ref_num *b, size_t r) {
    ref_num sum = 0;
    for (size_t k = 0; k < r; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return ref_sqrt(sum);
}

static inline ref_num ref_flat_value(const ref_num *y, size_t n, size_t r, const ref_num *z) {
    ref_num sum = 0;
    for (size_t i = 0; i < n; i++) sum += ref_flat_distance(y + i * n, z, r);
    return sum;
}

/* g = gradient at z over the rows not at z; returns the lower bound its unit vectors prove */
static inline ref_num ref_flat_bound(const ref_num *y, size_t n, size_t r, const ref_num *z,
                                     ref_num *g) {
    ref_num value = 0, norm = 0, shift = 0, at = 0, slope;
    for (size_t k = 0; k < r; k++) g[k] = 0;
    for (size_t i = 0; i < n; i++) {
        const ref_num d = ref_flat_distance(y + i * n, z, r);
        value += d;
        if (!(d > 0)) {
            at += 1;
            continue;
        }
        for (size_t k = 0; k < r; k++) g[k] += (z[k] - y[i * n + k]) / d;
    }
    for (size_t k = 0; k < r; k++) norm += g[k] * g[k];
    norm = ref_sqrt(norm);
    if (norm <= at) return value; /* the rows at z balance the others: optimal */
    /* what they cannot balance is spread over all and scaled back into the unit ball */
    slope = 1 - at / norm;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r; k++) shift += slope * g[k] * (y[i * n + k] - z[k]);
    return (value + shift / (ref_num)n) / (1 + slope * norm / (ref_num)n);
}

/* h b' = b by Cholesky; 0 if h is not positive */
static inline int ref_solve(ref_num *h, ref_num *b, size_t r) {
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++) {
            ref_num s = h[i * r + j];
            for (size_t k = 0; k < j; k++) s -= h[i * r + k] * h[j * r + k];
            if (i == j) {
                if (!(s > 0)) return 0;
                h[i * r + i] = ref_sqrt(s);
            } else
                h[i * r + j] = s / h[j * r + j];
        }
    for (size_t i = 0; i < r; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= h[i * r + k] * b[k];
        b[i] /= h[i * r + i];
    }
    for (size_t i = r; i-- > 0;) {
        for (size_t k = i + 1; k < r; k++) b[i] -= h[k * r + i] * b[k];
        b[i] /= h[i * r + i];
    }
    return 1;
}

/* the direction to go: Newton's if it can be had, else Weiszfeld's, weakened by the rows at z
   (Vardi and Zhang) */
static inline void ref_flat_direction(const ref_num *y, size_t n, size_t r, const ref_num *z,
                                      const ref_num *g, int newton, ref_num *p) {
    ref_num *h = ref_new(r * r), sum = 0;
    for (size_t k = 0; k < r; k++) p[k] = -g[k];
    for (size_t i = 0; i < n; i++) {
        const ref_num d = ref_flat_distance(y + i * n, z, r);
        if (!(d > 0)) {
            newton = 0;
            continue;
        }
        sum += 1 / d;
        for (size_t a = 0; a < r; a++)
            for (size_t b = 0; b < r; b++)
                h[a * r + b] +=
                    ((a == b) - (y[i * n + a] - z[a]) / d * ((y[i * n + b] - z[b]) / d)) / d;
    }
    if (!newton || !ref_solve(h, p, r))
        for (size_t k = 0; k < r; k++) p[k] = -g[k] / sum;
    free(h);
}

/* One step along p. The slope decides, not the value: beside a row at 1e38 no change of the value
   is visible. */
static inline int ref_flat_step(const ref_num *y, size_t n, size_t r, ref_num *z, const ref_num *p,
                                const ref_num *g) {
    ref_num *try = ref_new(r), *h = ref_new(r), t = 1, before = 0;
    int better = 0, moved = 0;
    for (size_t k = 0; k < r; k++) before += g[k] * p[k];
    for (int half = 0; half < 100 && !better && before < 0; half++, t /= 2) {
        ref_num slope = 0;
        for (size_t k = 0; k < r; k++) try[k] = z[k] + t * p[k];
        ref_flat_bound(y, n, r, try, h);
        for (size_t k = 0; k < r; k++) slope += h[k] * p[k];
        better = slope <= -before / 2;
    }
    for (size_t k = 0; k < r; k++) moved = moved || try[k] > z[k] || try[k] < z[k];
    if (better) memcpy(z, try, r * sizeof *z);
    free(try);
    free(h);
    return better && moved;
}

/* Returns the value at out; *bound <= least value <= it. */
static inline ref_num ref_gm(const agg_real *const *x, size_t n, size_t dim, ref_num *out,
                             ref_num *bound) {
    ref_num *d2 = ref_distances2(x, n, dim), *y = ref_new(n * n), *basis = ref_new(n * dim);
    ref_num *z = ref_new(n), *g = ref_new(n), *p = ref_new(n), value = 0, least = 0, radius = 0;
    ref_item *items = (ref_item *)ref_alloc(n, sizeof *items);
    size_t centre = 0, r;
    /* the centre of the smallest ball of a majority: nothing is lost near it */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            items[j].row = j;
            items[j].key = d2[i * n + j];
        }
        ref_sort(items, n);
        if (i == 0 || items[n / 2].key < radius) {
            radius = items[n / 2].key;
            centre = i;
        }
    }
    r = ref_flatten(x, n, dim, centre, y, basis);
    for (size_t i = 0; i < n; i++) /* rows that coincide still do */
        for (size_t j = 0; j < i; j++)
            if (!(d2[i * n + j] > 0)) memcpy(y + i * n, y + j * n, n * sizeof *y);
    for (size_t i = 0; i <= n; i++) { /* is a row itself optimal? if not, start from that centre */
        memcpy(z, y + (i < n ? i : centre) * n, n * sizeof *z);
        value = ref_flat_value(y, n, r, z);
        least = ref_flat_bound(y, n, r, z, g);
        if (least >= value) break;
    }
    for (int t = 0; t < 300 && value - least > value * (ref_num)1e-18L; t++) {
        ref_num b;
        ref_flat_direction(y, n, r, z, g, 1, p);
        if (!ref_flat_step(y, n, r, z, p, g)) {
            ref_flat_direction(y, n, r, z, g, 0, p);
            if (!ref_flat_step(y, n, r, z, p, g)) break;
        }
        value = ref_flat_value(y, n, r, z);
        b = ref_flat_bound(y, n, r, z, g);
        if (b > least) least = b;
    }
    if (out)
        for (size_t k = 0; k < dim; k++) {
            out[k] = (ref_num)x[centre][k];
            for (size_t b = 0; b < r; b++) out[k] += z[b] * basis[b * dim + k];
        }
    *bound = least;
    free(d2);
    free(y);
    free(basis);
    free(z);
    free(g);
    free(p);
    free(items);
    return value;
}

/* ---- pre-aggregations. A set of rows with, for each, its mix of the original rows ---- */
typedef struct ref_set {
    size_t n, dim, f, all; /* rows now, numbers, adversaries now, rows in the beginning */
    size_t pivot;          /* MoNNA's row now */
    agg_real *data;        /* n x dim */
    const agg_real **row;
    double *mix; /* n x all */
} ref_set;

static inline ref_set ref_set_new(size_t n, size_t dim, size_t f, size_t all) {
    ref_set s;
    s.n = n;
    s.dim = dim;
    s.f = f;
    s.all = all;
    s.pivot = 0;
    s.data = (agg_real *)ref_alloc(n * dim, sizeof *s.data);
    s.row = (const agg_real **)ref_alloc(n, sizeof *s.row);
    s.mix = (double *)ref_alloc(n * all, sizeof *s.mix);
    for (size_t i = 0; i < n; i++) s.row[i] = s.data + i * dim;
    return s;
}

static inline void ref_set_free(ref_set *s) {
    free(s->data);
    free(s->row);
    free(s->mix);
}

static inline void ref_set_average(const ref_set *from, const size_t *s, size_t count, ref_set *to,
                                   size_t i) {
    ref_num *mean = ref_new(from->dim);
    ref_mean_of(from->row, from->n, from->dim, s, count, mean, NULL, NULL);
    for (size_t k = 0; k < from->dim; k++) to->data[i * to->dim + k] = (agg_real)mean[k];
    for (size_t j = 0; j < count; j++)
        for (size_t a = 0; a < from->all; a++)
            to->mix[i * to->all + a] += from->mix[s[j] * from->all + a] / (double)count;
    free(mean);
}

static inline ref_set ref_nnm(const ref_set *x) {
    ref_set y = ref_set_new(x->n, x->dim, x->f, x->all);
    ref_item *items = (ref_item *)ref_alloc(x->n, sizeof *items);
    size_t *s = (size_t *)ref_alloc(x->n, sizeof *s);
    for (size_t i = 0; i < x->n; i++) {
        ref_nearest(x->row, x->n, x->dim, i, items);
        for (size_t j = 0; j < x->n - x->f; j++) s[j] = items[j].row;
        ref_set_average(x, s, x->n - x->f, &y, i);
    }
    y.pivot = x->pivot;
    free(items);
    free(s);
    return y;
}

static inline ref_set ref_bucketing(const ref_set *x, size_t bucket, agg_rng random) {
    const size_t m = (x->n + bucket - 1) / bucket;
    ref_set y = ref_set_new(m, x->dim, x->f, x->all);
    size_t *perm = (size_t *)ref_alloc(x->n, sizeof *perm);
    ref_first_subset(perm, x->n);
    for (size_t i = x->n - 1; i > 0; i--) { /* Fisher and Yates, from the top */
        const size_t j = (size_t)(random.next(random.self) % (uint64_t)(i + 1)), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
    for (size_t b = 0; b < m; b++) {
        const size_t from = b * bucket, count = x->n - from < bucket ? x->n - from : bucket;
        ref_set_average(x, perm + from, count, &y, b);
        for (size_t j = 0; j < count; j++)
            if (perm[from + j] == x->pivot) y.pivot = b;
    }
    free(perm);
    return y;
}

static inline ref_set ref_clip(const ref_set *x, ref_num limit) {
    ref_set y = ref_set_new(x->n, x->dim, x->f, x->all);
    for (size_t i = 0; i < x->n; i++) {
        const ref_num norm = ref_sqrt(ref_norm2(x->row[i], x->dim)),
                      s = norm > limit ? limit / norm : 1;
        for (size_t k = 0; k < x->dim; k++)
            y.data[i * y.dim + k] = (agg_real)(s * (ref_num)x->row[i][k]);
        for (size_t a = 0; a < x->all; a++)
            y.mix[i * y.all + a] = (double)((ref_num)x->mix[i * x->all + a] * s);
    }
    y.pivot = x->pivot;
    return y;
}

/* to be freed: norms from the least up */
static inline ref_item *ref_norms(const ref_set *x) {
    ref_item *items = (ref_item *)ref_alloc(x->n, sizeof *items);
    for (size_t i = 0; i < x->n; i++) {
        items[i].row = i;
        items[i].key = ref_sqrt(ref_norm2(x->row[i], x->dim));
    }
    ref_sort(items, x->n);
    return items;
}

static inline ref_set ref_arc(const ref_set *x) {
    const size_t n = x->n, cut = 2 * x->f * (n - x->f) / n;
    ref_item *items = ref_norms(x);
    ref_set y = ref_clip(x, items[n - 1 - cut].key);
    free(items);
    return y;
}

static inline ref_set ref_clip_median(const ref_set *x) {
    ref_item *items = ref_norms(x);
    ref_set y = ref_clip(x, ref_median(items, x->n));
    free(items);
    return y;
}

/* ---- the whole of agg_aggregate(): drop, pre-aggregations, rule. ---- */
static inline int ref_row_ok(const agg_real *x, size_t dim) {
    if (!x) return 0;
    for (size_t k = 0; k < dim; k++)
        if (!isfinite(x[k])) return 0;
    return 1;
}

static inline size_t ref_bad_rows(const agg_real *const *x, size_t n, size_t dim) {
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) bad += !ref_row_ok(x[i], dim);
    return bad;
}

static inline ref_set ref_prepare(const agg_desc *d, const agg_real *const *x) {
    const size_t bad = ref_bad_rows(x, d->n, d->dim);
    ref_set s = ref_set_new(d->n - bad, d->dim, d->f - bad, d->n);
    size_t j = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (!ref_row_ok(x[i], d->dim)) continue;
        if (i == d->pivot) s.pivot = j;
        memcpy(s.data + j * d->dim, x[i], d->dim * sizeof(agg_real));
        s.mix[j++ * d->n + i] = 1;
    }
    for (int p = 0; p < 2; p++) {
        ref_set t;
        switch (d->pre[p]) {
        case AGG_PRE_NNM: t = ref_nnm(&s); break;
        case AGG_PRE_BUCKETING: t = ref_bucketing(&s, d->bucket ? d->bucket : 2, d->rng); break;
        case AGG_PRE_CLIP: t = ref_clip(&s, (ref_num)d->clip); break;
        case AGG_PRE_ARC: t = ref_arc(&s); break;
        case AGG_PRE_CLIP_MEDIAN: t = ref_clip_median(&s); break;
        case AGG_PRE_NONE:
        case AGG_PRE_COUNT:
        default: continue;
        }
        ref_set_free(&s);
        s = t;
    }
    return s;
}

/* The rule on prepared rows. Returns the rule's own number: diameter, top eigenvalue, tau, the sum
   of FLTrust's cosines, or how well posed the answer is. */
static inline ref_num ref_rule(const agg_desc *d, const ref_set *s, ref_num *out, double *w,
                               ref_num *mag) {
    const agg_real *const *x = s->row;
    const size_t n = s->n, dim = s->dim, f = s->f;
    ref_num bound;
    switch (d->rule) {
    case AGG_MDA: return ref_mda(x, n, dim, f, out, w, mag);
    case AGG_CWTM: ref_cwtm(x, n, dim, f, out, w, mag); return 0;
    case AGG_MEAMED: ref_meamed(x, n, dim, f, out, w, mag); return 0;
    case AGG_CWMED: ref_cwmed(x, n, dim, out, w, mag); return 0;
    case AGG_KRUM: ref_multi_krum(x, n, dim, f, d->classic_krum, 1, out, w, mag); return 0;
    case AGG_MULTI_KRUM:
        ref_multi_krum(x, n, dim, f, d->classic_krum, d->q ? d->q : n - f, out, w, mag);
        return 0;
    case AGG_GM:
        if (w) memset(w, 0, n * sizeof *w);
        if (mag) memset(mag, 0, dim * sizeof *mag);
        return ref_gm(x, n, dim, out, &bound);
    case AGG_MEAN: ref_mean(x, n, dim, out, w, mag); return 0;
    case AGG_BULYAN: ref_bulyan(x, n, dim, f, d->classic_krum, out, w, mag); return 0;
    case AGG_CCLIP:
        return ref_cclip(x, n, dim, d->start, d->tau, d->iterations ? d->iterations : 3, out, w,
                         mag);
    case AGG_CGE: ref_cge(x, n, dim, f, out, w, mag); return 0;
    case AGG_MONNA: ref_monna(x, n, dim, f, s->pivot, out, w, mag); return 0;
    case AGG_CAF: return ref_caf(x, n, dim, f, out, w, mag);
    case AGG_SMEA: return ref_smea(x, n, dim, f, out, w, mag);
    case AGG_AKSEL: ref_aksel(x, n, dim, f, out, w, mag); return 0;
    case AGG_DNC: return ref_dnc(d, x, n, f, out, w, mag);
    case AGG_FLTRUST:
        return ref_fltrust(x, n, dim, d->trusted ? d->trusted : x[s->pivot], out, w, mag);
    case AGG_SIGNGUARD: return ref_signguard(d, x, n, out, w, mag);
    case AGG_GAS: return ref_gas(d, x, n, f, out, w, mag);
    case AGG_WINSOR: ref_winsor(x, n, dim, f, out, w, mag); return 0;
    case AGG_SIGN_VOTE: return ref_sign_vote(x, n, dim, out, w, mag);
    case AGG_FEDPG: return ref_fedpg(d, x, n, f, out, w, mag);
    case AGG_RULE_COUNT:
    default: return 0;
    }
}

/* to the original rows */
static inline void ref_spread_weights(const ref_set *s, const double *w, double *all) {
    for (size_t a = 0; a < s->all; a++) {
        all[a] = 0;
        for (size_t i = 0; i < s->n; i++) all[a] += w[i] * s->mix[i * s->all + a];
    }
}

/* ---- the guarantee: ||out - mean_G|| / diam_G for a set G of k rows. slack: allowed rounding of
   out, which is subtracted from the numerator as slack times the largest number in G. */
static inline ref_num ref_set_ratio(const agg_real *const *x, const ref_num *d2, size_t n,
                                    size_t dim, const size_t *s, size_t k, const agg_real *out,
                                    ref_num slack) {
    ref_num miss = 0, top = 0, diameter = ref_sqrt(ref_diameter2(d2, n, s, k));
    for (size_t c = 0; c < dim; c++) {
        ref_num sum = 0;
        for (size_t i = 0; i < k; i++) {
            sum += (ref_num)x[s[i]][c];
            if (ref_abs((ref_num)x[s[i]][c]) > top) top = ref_abs((ref_num)x[s[i]][c]);
        }
        sum = sum / (ref_num)k - (ref_num)out[c];
        miss += sum * sum;
    }
    /* below that, rounding is not relative */
    miss = ref_sqrt(miss) - slack * (top + (ref_num)REAL_MIN);
    return miss <= 0 ? 0 : diameter > 0 ? miss / diameter : (ref_num)INFINITY;
}

/* the largest over all G of n-f rows */
static inline ref_num ref_resilience(const agg_real *const *x, size_t n, size_t dim, size_t f,
                                     const agg_real *out, ref_num slack) {
    const size_t k = n - f;
    size_t *s = (size_t *)ref_alloc(k, sizeof *s);
    ref_num *d2 = ref_distances2(x, n, dim), worst = 0;
    ref_first_subset(s, k);
    do {
        const ref_num ratio = ref_set_ratio(x, d2, n, dim, s, k, out, slack);
        if (ratio > worst) worst = ratio;
    } while (ref_next_subset(s, k, n));
    free(s);
    free(d2);
    return worst;
}

/* A lower bound of it where there are too many G: those of the n-f rows nearest to a row. Narrow
   sets are the ones that matter, for their diameter is small. */
static inline ref_num ref_resilience_of_balls(const agg_real *const *x, size_t n, size_t dim,
                                              size_t f, const agg_real *out, ref_num slack) {
    const size_t k = n - f;
    size_t *s = (size_t *)ref_alloc(k, sizeof *s);
    ref_item *item = (ref_item *)ref_alloc(n, sizeof *item);
    ref_num *d2 = ref_distances2(x, n, dim), worst = 0;
    for (size_t i = 0; i < n; i++) {
        ref_num ratio;
        for (size_t j = 0; j < n; j++) {
            item[j].row = j;
            item[j].key = d2[i * n + j];
        }
        ref_sort(item, n);
        for (size_t j = 0; j < k; j++) s[j] = item[j].row;
        ratio = ref_set_ratio(x, d2, n, dim, s, k, out, slack);
        if (ratio > worst) worst = ratio;
    }
    free(s);
    free(item);
    free(d2);
    return worst;
}
#endif /* TESTS_REFERENCE_H */
