/* jobs.h - the game's job system: a few SDL threads that wait for work. desc.jobs of the trainer is
   {jobs_run, &jobs}: each agent is a job. The game's own jobs would go the same way. */
#ifndef JOBS_H
#define JOBS_H
#include <SDL2/SDL.h>

enum { JOBS_MOST = 8 };

typedef struct jobs {
    SDL_mutex *lock;
    SDL_cond *work, *done;
    SDL_Thread *thread[JOBS_MOST];
    int threads, quit; /* threads: beside the one that calls */
    void (*job)(void *arg, size_t index);
    void *arg;
    size_t next, count, busy; /* jobs next .. count-1 are free to take, busy are being done */
} jobs;

/* takes jobs until there are none; called and left with the lock held */
static void jobs_work(jobs *j) {
    while (j->next < j->count) {
        const size_t i = j->next++;
        j->busy++;
        SDL_UnlockMutex(j->lock);
        j->job(j->arg, i);
        SDL_LockMutex(j->lock);
        j->busy--;
    }
    if (j->busy == 0) SDL_CondSignal(j->done);
}

static int jobs_thread(void *self) {
    jobs *j = (jobs *)self;
    SDL_LockMutex(j->lock);
    while (!j->quit) {
        jobs_work(j);
        if (!j->quit) SDL_CondWait(j->work, j->lock);
    }
    SDL_UnlockMutex(j->lock);
    return 0;
}

static void jobs_run(void *self, size_t count, void (*job)(void *arg, size_t index), void *arg) {
    jobs *j = (jobs *)self;
    SDL_LockMutex(j->lock);
    j->job = job;
    j->arg = arg;
    j->next = 0;
    j->count = count;
    SDL_CondBroadcast(j->work);
    jobs_work(j);
    while (j->busy) SDL_CondWait(j->done, j->lock);
    SDL_UnlockMutex(j->lock);
}

/* a thread for each core but one, which is the caller's */
static void jobs_start(jobs *j) {
    const int cores = SDL_GetCPUCount();
    SDL_zerop(j);
    j->lock = SDL_CreateMutex();
    j->work = SDL_CreateCond();
    j->done = SDL_CreateCond();
    while (j->threads < cores - 1 && j->threads < JOBS_MOST &&
           (j->thread[j->threads] = SDL_CreateThread(jobs_thread, "job", j)) != NULL)
        j->threads++;
}

static void jobs_stop(jobs *j) {
    SDL_LockMutex(j->lock);
    j->quit = 1;
    SDL_CondBroadcast(j->work);
    SDL_UnlockMutex(j->lock);
    for (int i = 0; i < j->threads; i++) SDL_WaitThread(j->thread[i], NULL);
    SDL_DestroyCond(j->done);
    SDL_DestroyCond(j->work);
    SDL_DestroyMutex(j->lock);
}
#endif /* JOBS_H */
