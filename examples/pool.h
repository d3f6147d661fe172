/* pool.h - a small thread pool for examples and benchmarks: run count jobs on some threads, the
   caller works too.

       pool p;
       pool_start(&p, 4);             // with the caller: three threads are made
       desc.jobs.run = pool_run;      // what aggregators.h and resnharpg.h want to know
       desc.jobs.self = &p;
       pool_stop(&p);

   Any job system will do that calls job(arg, 0 .. count-1), each once, and returns when all are
   done. Link -pthread. */
#ifndef POOL_H
#define POOL_H
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define POOL_MAX 16

typedef struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread[POOL_MAX];
    int threads, quit; /* threads: beside the caller */
    void (*job)(void *arg, size_t index);
    void *arg;
    size_t next, count, busy; /* jobs next .. count-1 are free to take, busy are being done */
} pool;

/* takes jobs until there are none; called and left with the lock held */
static void pool_work(pool *p) {
    while (p->next < p->count) {
        const size_t i = p->next++;
        p->busy++;
        pthread_mutex_unlock(&p->lock);
        p->job(p->arg, i);
        pthread_mutex_lock(&p->lock);
        p->busy--;
    }
    if (p->busy == 0) pthread_cond_signal(&p->done);
}

static void *pool_thread(void *self) {
    pool *p = (pool *)self;
    pthread_mutex_lock(&p->lock);
    while (!p->quit) {
        pool_work(p);
        if (!p->quit) pthread_cond_wait(&p->work, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void pool_run(void *self, size_t count, void (*job)(void *arg, size_t index), void *arg) {
    pool *p = (pool *)self;
    pthread_mutex_lock(&p->lock);
    p->job = job;
    p->arg = arg;
    p->next = 0;
    p->count = count;
    pthread_cond_broadcast(&p->work);
    pool_work(p);
    while (p->busy) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* fewer if the system gives fewer: the result is the same */
static void pool_start(pool *p, int threads) {
    memset(p, 0, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    while (p->threads < threads - 1 && p->threads < POOL_MAX &&
           pthread_create(&p->thread[p->threads], NULL, pool_thread, p) == 0)
        p->threads++;
}

static void pool_stop(pool *p) {
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
}
#endif /* POOL_H */
