/* Pools of jobs that try to change the bits: any order, any number of threads. Include common.h
   first. Where there is no pthread.h the caller does all jobs, in their order. */
#ifndef TESTS_POOLS_H
#define TESTS_POOLS_H
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define HAVE_THREADS 1
#else
#define HAVE_THREADS 0
#endif

typedef enum job_order { FORWARD, BACKWARD, SHUFFLED, JOB_ORDERS } job_order;

enum { JOB_THREADS = 8 };

/* threads are made for each call; they take the next job under a lock */
typedef struct job_pool {
    job_order order;
    size_t threads; /* below 2: the caller alone */
    rng shuffle;
    size_t next, count, *index;
    agg_job *job;
    void *arg;
#if HAVE_THREADS
    pthread_mutex_t lock;
#endif
} job_pool;

static inline job_pool job_pool_make(job_order order, size_t threads) {
    job_pool p;
    memset(&p, 0, sizeof p);
    p.order = order;
    p.threads = threads;
    p.shuffle = rng_make(threads);
    return p;
}

static inline void job_pool_arrange(job_pool *p) {
    for (size_t i = 0; i < p->count; i++) p->index[i] = p->order == BACKWARD ? p->count - 1 - i : i;
    if (p->order == SHUFFLED) rng_shuffle(&p->shuffle, p->index, p->count);
}

#if HAVE_THREADS
static inline void *job_pool_worker(void *self) {
    job_pool *p = (job_pool *)self;
    for (;;) {
        size_t i;
        pthread_mutex_lock(&p->lock);
        i = p->next++;
        pthread_mutex_unlock(&p->lock);
        if (i >= p->count) return NULL;
        p->job(p->arg, p->index[i]);
    }
}

static inline void job_pool_share(job_pool *p) {
    pthread_t id[JOB_THREADS];
    if (p->threads > JOB_THREADS) abort();
    pthread_mutex_init(&p->lock, NULL);
    for (size_t i = 0; i < p->threads; i++)
        if (pthread_create(&id[i], NULL, job_pool_worker, p)) abort();
    for (size_t i = 0; i < p->threads; i++) pthread_join(id[i], NULL);
    pthread_mutex_destroy(&p->lock);
}
#endif

static inline void job_pool_run(void *self, size_t count, agg_job *job, void *arg) {
    job_pool *p = (job_pool *)self;
    p->index = (size_t *)need(calloc(count + 1, sizeof *p->index));
    p->job = job;
    p->arg = arg;
    p->next = 0;
    p->count = count;
    job_pool_arrange(p);
#if HAVE_THREADS
    if (p->threads > 1) job_pool_share(p);
#endif
    while (p->next < count) job(arg, p->index[p->next++]);
    free(p->index);
}

static inline agg_jobs job_pool_jobs(job_pool *p) {
    agg_jobs jobs;
    jobs.run = job_pool_run;
    jobs.self = p;
    return jobs;
}
#endif /* TESTS_POOLS_H */
