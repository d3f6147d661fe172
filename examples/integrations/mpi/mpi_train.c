/* mpi_train - a federation on MPI: rank 0 is the server, the agents are on the others.

       mpirun -n 4 mpi_train --task CartPole --agents 10 --f 3 --state run.state

   The protocol is rn_hub and rn_peer of resnharpg.h; here MPI carries the bytes. Which rank an
   agent is on changes nothing: theta has the bits of rn_trainer after every round, for any number
   of ranks (one rank is server and agents at once). The state holds the server and all agents as
   they are between two rounds, so that a run goes on with the same bits, on other ranks if need
   be. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include <mpi.h>
#include <signal.h>
#include "options.h"
#include "../zeromq/run.h"
#include "ranks.h"

enum { MOST_AGENTS = 10000 };

/* Messages carry what they are as a tag: of an agent its number, or one of these. */
enum { TAG_SAVE = 20001, TAG_STATE, TAG_END };

typedef struct train_attack {
    const char *name;
    agg_attack_kind vector;
    int has_vector, random_action, flip_reward;
} train_attack;

static const train_attack attacks[] = {
    {"none", AGG_ATTACK_ZERO, 0, 0, 0},       {"sign-flip", AGG_ATTACK_SIGN_FLIP, 1, 0, 0},
    {"noise", AGG_ATTACK_NOISE, 1, 0, 0},     {"zero", AGG_ATTACK_ZERO, 1, 0, 0},
    {"nan", AGG_ATTACK_NAN, 1, 0, 0},         {"random-action", AGG_ATTACK_ZERO, 0, 1, 0},
    {"flip-reward", AGG_ATTACK_ZERO, 0, 0, 1}};

typedef struct member { /* an agent on this rank */
    const struct training *t;
    size_t index;
    run_place place;
    rn_peer *peer;
    const train_attack *attack;
} member;

typedef struct parcel { /* a letter on its way */
    MPI_Request request;
    void *bytes; /* NULL: it has arrived */
} parcel;

typedef struct training {
    ranks r;
    run run;
    rn_hub *hub;        /* rank 0 */
    rn_trainer *check;  /* rank 0: the same in one process, NULL: not wanted */
    member *agent;      /* those of this rank, in order */
    size_t agents;      /* how many those are */
    uint64_t now;       /* messages so far: time enough for a protocol that waits for nobody */
    unsigned char *box; /* the longest message there is */
    size_t box_size;
    parcel *parcel; /* rank 0: plans that are on their way */
    size_t parcels;
    const train_attack *attack;
    size_t adversaries, every, die;
    size_t idle;   /* rounds without an update, ... */
    rn_status why; /* ... the last of them */
    const char *state, *theta;
    int quiet;
    double started, told;
} training;

/* ---- who is where */

static int rank_of_agent(const training *t, size_t i) {
    return t->r.count == 1 ? 0 : 1 + (int)(i % (size_t)(t->r.count - 1));
}

static member *find_member(const training *t, size_t i) {
    for (size_t k = 0; k < t->agents; k++)
        if (t->agent[k].index == i) return &t->agent[k];
    return NULL;
}

static void fail(const training *t, const char *what, const char *why) {
    ranks_complain(&t->r, "%s: %s", what, why);
    ranks_abort();
}

/* ---- agents */

/* random numbers by agent and round alone, so that a run that goes on has the same */
static void alter(void *self, size_t round, rn_real *row) {
    const member *m = (const member *)self;
    rn_random random = rn_make_random(666 + m->t->run.seed, (uint32_t)(m->index + 10000 * round));
    agg_attack_desc d;
    memset(&d, 0, sizeof d);
    d.kind = m->attack->vector;
    d.rng = rn_random_rng(&random);
    (void)agg_attack(&d, NULL, 0, m->t->run.recipe.policy.dim, row, row);
}

static void open_member(training *t, member *m, size_t index) {
    rn_peer_desc d;
    size_t size;
    void *memory;
    m->t = t;
    m->index = index;
    m->attack = index + t->adversaries >= t->run.agents ? t->attack : &attacks[0];
    d = run_peer_desc(&t->run, &m->place, index);
    d.retry = 0; /* MPI loses nothing */
    d.agent.random_action = m->attack->random_action;
    d.agent.flip_reward = m->attack->flip_reward;
    d.alter = m->attack->has_vector ? alter : NULL;
    d.alter_self = m;
    size = rn_peer_size(&d);
    memory = malloc(size + 1);
    const rn_status s = memory ? rn_peer_init(&m->peer, &d, memory, size) : RN_ERR_MEMORY;
    if (s != RN_OK) fail(t, "an agent", rn_status_text(s));
}

static void open_members(training *t) {
    const size_t n = t->run.agents;
    size_t i, k = 0;
    for (i = 0; i < n; i++) t->agents += rank_of_agent(t, i) == t->r.rank;
    t->agent = (member *)calloc(t->agents + 1, sizeof *t->agent);
    if (!t->agent) fail(t, "the agents", "no memory");
    for (i = 0; i < n; i++)
        if (rank_of_agent(t, i) == t->r.rank) open_member(t, &t->agent[k++], i);
}

/* ---- bytes from rank to rank; on one rank they are simply handed over */

static void take_from_agent(training *t, size_t from, const void *bytes, size_t size) {
    const rn_reason why = rn_hub_receive(t->hub, from, bytes, size);
    if (why != RN_ACCEPTED) fail(t, "the server refuses an agent", rn_reason_text(why));
    t->now++;
}

static void take_from_server(training *t, size_t to, const void *bytes, size_t size) {
    member *m = find_member(t, to);
    const rn_reason why = m ? rn_peer_receive(m->peer, bytes, size) : RN_REFUSED_SENDER;
    if (why != RN_ACCEPTED) fail(t, "an agent refuses the server", rn_reason_text(why));
    t->now++;
}

/* everything that this rank's agents can do now, and their letters */
static void work(training *t) {
    rn_letter m;
    for (size_t k = 0; k < t->agents; k++) {
        member *a = &t->agent[k];
        rn_status s = RN_MORE;
        if (t->die && rn_peer_round(a->peer) == t->die && t->r.rank == t->r.count - 1)
            raise(SIGKILL); /* for the test of what happens then */
        while (s == RN_MORE) s = rn_peer_tick(a->peer, t->now, (size_t)1 << 30, NULL);
        if (s != RN_OK) fail(t, "an agent has no row", rn_status_text(s));
        while (rn_peer_next(a->peer, &m)) {
            if (t->r.count == 1)
                take_from_agent(t, a->index, m.bytes, m.size);
            else
                MPI_Send(m.bytes, (int)m.size, MPI_BYTE, 0, (int)a->index, MPI_COMM_WORLD);
        }
    }
}

/* a place for a letter: that of one that has arrived, or a new one */
static parcel *free_parcel(training *t) {
    parcel *more;
    for (size_t k = 0; k < t->parcels; k++) {
        int arrived = !t->parcel[k].bytes;
        if (!arrived) MPI_Test(&t->parcel[k].request, &arrived, MPI_STATUS_IGNORE);
        if (!arrived) continue;
        free(t->parcel[k].bytes);
        return &t->parcel[k];
    }
    more = (parcel *)realloc(t->parcel, (t->parcels + 1) * sizeof *more);
    if (!more) fail(t, "messages", "no memory");
    t->parcel = more;
    return &t->parcel[t->parcels++];
}

/* The server waits for no agent to take a plan: it may be waiting to give a row. */
static void post(training *t, const rn_letter *m) {
    parcel *p = free_parcel(t);
    p->bytes = malloc(m->size);
    if (!p->bytes) fail(t, "messages", "no memory");
    memcpy(p->bytes, m->bytes, m->size);
    MPI_Isend(p->bytes, (int)m->size, MPI_BYTE, rank_of_agent(t, m->to), (int)m->to, MPI_COMM_WORLD,
              &p->request);
}

static void send_plans(training *t) {
    rn_letter m;
    while (rn_hub_next(t->hub, &m)) {
        if (t->r.count == 1)
            take_from_server(t, m.to, m.bytes, m.size);
        else
            post(t, &m);
    }
}

/* the next message into the box; returns its tag */
static int receive(training *t, int from, size_t *size) {
    MPI_Status about;
    int count = 0;
    MPI_Recv(t->box, (int)t->box_size, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &about);
    MPI_Get_count(&about, MPI_BYTE, &count);
    *size = (size_t)count;
    return about.MPI_TAG;
}

/* ---- the state: the hub and every agent, between two rounds */

static unsigned char *save_member(const training *t, const member *m, size_t *size) {
    unsigned char *bytes;
    *size = rn_peer_save_size(m->peer);
    bytes = (unsigned char *)malloc(*size + 1);
    if (!bytes || rn_peer_save(m->peer, bytes, *size) != RN_OK) fail(t, "an agent", "cannot save");
    return bytes;
}

/* the states of this rank's agents to the server */
static void send_states(training *t) {
    for (size_t k = 0; k < t->agents; k++) {
        size_t size;
        unsigned char *bytes = save_member(t, &t->agent[k], &size);
        MPI_Send(bytes, (int)size, MPI_BYTE, 0, TAG_STATE, MPI_COMM_WORLD);
        free(bytes);
    }
}

static unsigned char *receive_state(const training *t, int from, size_t *size) {
    MPI_Status about;
    unsigned char *bytes;
    int count = 0;
    MPI_Probe(from, TAG_STATE, MPI_COMM_WORLD, &about);
    MPI_Get_count(&about, MPI_BYTE, &count);
    bytes = (unsigned char *)malloc((size_t)count + 1);
    if (!bytes) fail(t, "the state", "no memory");
    MPI_Recv(bytes, count, MPI_BYTE, from, TAG_STATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *size = (size_t)count;
    return bytes;
}

typedef struct piece {
    unsigned char *bytes;
    size_t size;
} piece;

static void put_piece(training *t, piece *all, const unsigned char *bytes, size_t size) {
    uint64_t length = size;
    all->bytes = (unsigned char *)realloc(all->bytes, all->size + 8 + size);
    if (!all->bytes) fail(t, "the state", "no memory");
    memcpy(all->bytes + all->size, &length, 8);
    memcpy(all->bytes + all->size + 8, bytes, size);
    all->size += 8 + size;
}

/* the settings: a state goes on with these alone */
static const char *state_head(const training *t) {
    static char head[500];
    char settings[400];
    run_write(&t->run, settings, sizeof settings);
    snprintf(head, sizeof head, "%s attack %s adversaries %d", settings, t->attack->name,
             t->attack == attacks ? 0 : (int)t->adversaries);
    return head;
}

/* the settings, the hub, agents in their order: nothing of which rank has what */
static void save(training *t) {
    const size_t size = rn_hub_save_size(t->hub);
    unsigned char *hub = (unsigned char *)malloc(size + 1);
    const char *head = state_head(t);
    piece all = {NULL, 0};
    if (!hub || rn_hub_save(t->hub, hub, size) != RN_OK) fail(t, "the server", "cannot save");
    put_piece(t, &all, (const unsigned char *)head, strlen(head) + 1);
    put_piece(t, &all, hub, size);
    for (int p = 1; p < t->r.count; p++) MPI_Send(NULL, 0, MPI_BYTE, p, TAG_SAVE, MPI_COMM_WORLD);
    for (size_t i = 0; i < t->run.agents; i++) { /* of one rank they come in this order */
        const int from = rank_of_agent(t, i);
        size_t length;
        unsigned char *bytes =
            from ? receive_state(t, from, &length) : save_member(t, find_member(t, i), &length);
        put_piece(t, &all, bytes, length);
        free(bytes);
    }
    if (file_replace(t->state, all.bytes, all.size, 1) != 0) fail(t, t->state, strerror(errno));
    free(all.bytes);
    free(hub);
}

static const unsigned char *next_piece(const training *t, const unsigned char **at, size_t *left,
                                       size_t *size) {
    const unsigned char *begin = *at + 8;
    uint64_t length = 0;
    if (*left >= 8) memcpy(&length, *at, 8);
    if (*left < 8 || length > *left - 8) fail(t, t->state, "it is cut off");
    *size = (size_t)length;
    *at += 8 + length;
    *left -= 8 + (size_t)length;
    return begin;
}

/* rank 0 has read the file; every rank takes what is its own */
static void load_pieces(training *t, const unsigned char *at, size_t left) {
    const char *head = state_head(t);
    size_t size;
    const unsigned char *piece_at = next_piece(t, &at, &left, &size);
    if (size != strlen(head) + 1 || memcmp(piece_at, head, size) != 0)
        fail(t, t->state, "it is of other settings");
    piece_at = next_piece(t, &at, &left, &size);
    if (t->hub) {
        const rn_status s = rn_hub_load(t->hub, piece_at, size);
        if (s != RN_OK) fail(t, t->state, rn_status_text(s));
    }
    for (size_t i = 0; i < t->run.agents; i++) {
        member *m = find_member(t, i);
        piece_at = next_piece(t, &at, &left, &size);
        if (m && rn_peer_load(m->peer, piece_at, size) != RN_OK) fail(t, t->state, "is damaged");
    }
    if (left) fail(t, t->state, "it is longer than a state");
}

static size_t server_round(const training *t) {
    return rn_server_current_round(rn_hub_server(t->hub));
}

/* no file: a new run */
static void load(training *t) {
    unsigned char *bytes = NULL;
    uint64_t size = 0;
    size_t read = 0;
    if (!t->r.rank) {
        bytes = file_read(t->state, (size_t)1 << 32, &read);
        if (!bytes && errno != ENOENT) fail(t, t->state, strerror(errno));
        if (bytes && !read) fail(t, t->state, "it is cut off: empty");
        size = bytes ? read : 0;
    }
    ranks_broadcast(&t->r, &size, sizeof size, 0);
    if (!size) return;
    if (t->r.rank) bytes = (unsigned char *)malloc((size_t)size);
    if (!bytes) fail(t, t->state, "no memory");
    ranks_broadcast(&t->r, bytes, (size_t)size, 0);
    load_pieces(t, bytes, (size_t)size);
    free(bytes);
    MPI_Barrier(MPI_COMM_WORLD); /* a rank that refuses its part does not come: nobody goes on */
    if (!t->r.rank) printf("goes on with round %d, from %s\n", (int)server_round(t), t->state);
}

/* ---- the server */

static void compare(training *t) {
    const size_t dim = t->run.recipe.policy.dim;
    if (!t->check) return;
    (void)rn_trainer_run_round(t->check);
    if (memcmp(rn_trainer_theta(t->check), rn_server_theta(rn_hub_server(t->hub)),
               dim * sizeof(rn_real)) != 0)
        fail(t, "--check", "rn_trainer's theta has other bits");
}

static void say(training *t, const rn_progress *p) {
    const double now = MPI_Wtime();
    if (t->quiet || (now - t->told < 2 && server_round(t) <= t->run.rounds)) return;
    t->told = now;
    printf("%d rounds of %d: return %.1f, ||d|| %.3g, dropped %d, %.0f s\n",
           (int)server_round(t) - 1, (int)t->run.rounds,
           run_evaluate(&t->run, rn_server_theta(rn_hub_server(t->hub)), 5), p->norm,
           (int)p->dropped, now - t->started);
    fflush(stdout);
}

/* one round: until all rows are in */
static void serve_round(training *t) {
    rn_progress progress;
    rn_status s = RN_MORE;
    while (s == RN_MORE) {
        send_plans(t);
        work(t); /* alone: the agents are here */
        s = rn_hub_tick(t->hub, t->now, &progress);
        if (s == RN_MORE && t->r.count > 1) {
            size_t size;
            const int tag = receive(t, MPI_ANY_SOURCE, &size);
            take_from_agent(t, (size_t)tag, t->box, size);
        }
    }
    if (progress.status != RN_OK) {
        t->idle++;
        t->why = progress.status;
    }
    compare(t);
    say(t, &progress);
    if (t->state && (server_round(t) - 1) % t->every == 0) save(t);
}

static void serve(training *t) {
    const rn_real *theta = rn_server_theta(rn_hub_server(t->hub));
    const size_t dim = t->run.recipe.policy.dim;
    (void)rn_hub_tick(t->hub, t->now, NULL);
    while (server_round(t) <= t->run.rounds) serve_round(t);
    for (int p = 1; p < t->r.count; p++) MPI_Send(NULL, 0, MPI_BYTE, p, TAG_END, MPI_COMM_WORLD);
    for (size_t k = 0; k < t->parcels; k++) MPI_Wait(&t->parcel[k].request, MPI_STATUS_IGNORE);
    if (t->theta && file_replace(t->theta, theta, dim * sizeof *theta, 1) != 0)
        fail(t, t->theta, strerror(errno));
    printf("done after %d rounds on %d ranks: return %.1f, %g counts as learned; theta %016llx%s\n",
           (int)t->run.rounds, t->r.count, run_evaluate(&t->run, theta, 20), t->run.task->good,
           (unsigned long long)run_hash(theta, dim), t->check ? ", rn_trainer's bits" : "");
    if (t->idle)
        printf("%d rounds have made no update: %s\n", (int)t->idle, rn_status_text(t->why));
}

/* ---- the other ranks */

static void follow(training *t) {
    for (;;) {
        size_t size;
        int tag;
        work(t);
        tag = receive(t, 0, &size);
        if (tag == TAG_END) return;
        if (tag == TAG_SAVE)
            send_states(t);
        else
            take_from_server(t, (size_t)tag, t->box, size);
    }
}

/* ---- the command line */

enum {
    TASK,
    AGENTS,
    F,
    ROUNDS,
    SEED,
    RULE,
    STATE,
    EVERY,
    ATTACK,
    ADVERSARIES,
    THETA,
    CHECK,
    DIE,
    QUIET,
    LAST,
    OPTIONS
};

static option options[OPTIONS] = {
    {"--task", "one of the six environments (CartPole)", "CartPole", 0, 0, 0},
    {"--agents", "how many there are (10)", NULL, 10, 1, MOST_AGENTS},
    {"--f", "adversaries to survive (3)", NULL, 3, 0, MOST_AGENTS},
    {"--rounds", "then it ends (the task's own)", NULL, 0, 1, 1000000},
    {"--seed", "of all random numbers (1)", NULL, 1, 0, 1000000000},
    {"--rule", "CWTM, MDA, CAF, .. (CWTM)", "CWTM", 0, 0, 0},
    {"--state", "file that the state is kept in; it goes on from there", NULL, 0, 0, 0},
    {"--every", "rounds between states (10)", NULL, 10, 1, 1000000},
    {"--attack", "of the last agents: sign-flip, noise, zero, nan, random-action, flip-reward",
     "none", 0, 0, 0},
    {"--adversaries", "how many those are (f)", NULL, MOST_AGENTS, 0, MOST_AGENTS},
    {"--theta", "file for theta in the end, plain numbers", NULL, 0, 0, 0},
    {"--check", "rn_trainer beside it: the same bits after every round", NULL, 0, OPTION_FLAG, 0},
    {"--die", "for tests: the last rank kills itself in this round", NULL, 0, 1, 1000000},
    {"--quiet", "only the last line", NULL, 0, OPTION_FLAG, 0},
    {"", "", NULL, 0, 0, 0}};

static const train_attack *find_attack(const char *name) {
    for (size_t k = 0; k < sizeof attacks / sizeof *attacks; k++)
        if (!strcmp(attacks[k].name, name)) return &attacks[k];
    options_refuse(name, "no such attack");
    return NULL;
}

static void settings(training *t, const option *o) {
    run *r = &t->run;
    snprintf(r->task_name, sizeof r->task_name, "%s", o[TASK].text);
    snprintf(r->rule, sizeof r->rule, "%s", o[RULE].text);
    snprintf(r->name, sizeof r->name, "mpi");
    r->agents = o[AGENTS].number;
    r->f = o[F].number;
    r->rounds = o[ROUNDS].number;
    r->seed = o[SEED].number;
    if (2 * r->f >= r->agents)
        options_refuse("--f", "less than half of the agents can be survived");
    t->attack = find_attack(o[ATTACK].text);
    t->adversaries = o[ADVERSARIES].number < MOST_AGENTS ? o[ADVERSARIES].number : r->f;
    t->state = o[STATE].text;
    t->every = o[EVERY].number;
    t->theta = o[THETA].text;
    t->die = o[DIE].number;
    t->quiet = o[QUIET].number != 0;
    if (o[CHECK].number && (t->attack->has_vector || t->attack != attacks))
        options_refuse("--check", "rn_trainer's adversaries draw other numbers: not with --attack");
    if (o[CHECK].number && t->state)
        options_refuse("--check", "not with --state: rn_trainer would begin anew");
    run_open(r);
}

/* all agents in one process */
static rn_trainer *open_check(const run *r) {
    run_place *places = (run_place *)calloc(r->agents, sizeof *places);
    rn_env *envs = (rn_env *)calloc(r->agents, sizeof *envs);
    rn_trainer_desc d = r->recipe;
    rn_trainer *trainer = NULL;
    if (!places || !envs) run_refuse("the trainer", "no memory");
    for (size_t i = 0; i < r->agents; i++) envs[i] = run_env(r, &places[i]);
    d.envs = envs;
    const rn_status s = rn_trainer_create(&trainer, &d);
    if (s != RN_OK) run_refuse("the trainer", rn_status_text(s));
    return trainer;
}

static int together = 1; /* what ends this rank ends all */

/* Whatever ends the program, MPI is told. MPI_Finalize() waits for the other ranks: one that ends
   alone ends them. */
static void finish(void) {
    int over = 1;
    MPI_Finalized(&over);
    if (over) return;
    if (together)
        MPI_Finalize();
    else
        ranks_abort();
}

int main(int argc, char **argv) {
    static training t;
    t.r = ranks_begin(&argc, &argv, "mpi_train");
    atexit(finish);
    if (t.r.rank) { /* one rank says what is wrong with the options */
        if (!freopen("/dev/null", "w", stdout)) return 1;
        ranks_hush(1);
    }
    options_read(argc, argv, options, OPTIONS,
                 "usage: mpirun -n RANKS mpi_train [options]\n"
                 "Trains a federation: rank 0 is the server, the agents are on the others.\n");
    settings(&t, options);
    ranks_hush(0);
    if (ranks_any(ranks_check_place(&t.r, t.theta) || ranks_check_place(&t.r, t.state))) return 1;
    together = 0;
    t.started = MPI_Wtime();
    t.box_size = rn_message_size(t.run.recipe.policy.dim);
    t.box = (unsigned char *)malloc(t.box_size);
    if (!t.box) fail(&t, "messages", "no memory");
    if (!t.r.rank) t.hub = run_hub(&t.run);
    if (!t.r.rank && options[CHECK].number) t.check = open_check(&t.run);
    open_members(&t);
    if (t.state) load(&t);
    if (t.r.rank)
        follow(&t);
    else
        serve(&t);
    together = 1;
    return 0;
}
