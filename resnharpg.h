/* resnharpg.h - v0.5.0 - Byzantine-robust federated RL - SPDX-License-Identifier: MIT OR Unlicense
   Res-NHARPG, resilient normalized Hessian-aided recursive policy gradient: N agents, each with its
   own copy of an environment, learn one policy together; up to f are adversaries and send anything.
   One file beside aggregators.h, C99 and C++11. No globals, no hidden allocation, no math library.

   In exactly one C or C++ file:                  In every other file:
       #define RESNHARPG_IMPLEMENTATION               #include "resnharpg.h"
       #include "resnharpg.h"                     (the define brings the code of aggregators.h too)

   QUICK START (every example in this comment is compiled and run by `make test`)
       static void reset(void *self, const agg_rng *rng, rn_real *obs) {
           double *x = (double *)self;                   // somebody stands at x, sees x, and is to
           *x = 2 * rn_draw_uniform(rng) - 1;            // find the middle
           obs[0] = (rn_real)*x;
       }
       static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                  double *reward) {
           double *x = (double *)self;
           (void)rng;
           *x += act[0] > 0 ? 0.1 : -0.1;
           obs[0] = (rn_real)*x;
           *reward = -*x * *x;
           return RN_RUNNING;                            // until method.horizon
       }
       int main(void) {
           double place[11], score = 0;                  // 10 agents train, one place to evaluate
           static rn_env envs[11];                       // static: all of it is 0
           rn_net net;
           rn_trainer *trainer = NULL;
           for (int i = 0; i < 11; i++) {
               envs[i].self = &place[i];
               envs[i].reset = reset;
               envs[i].step = step;
               envs[i].obs_dim = envs[i].act_dim = 1;
               envs[i].actions = 2;                      // 0 or 1
           }
           rn_net_desc shape = rn_make_net_desc(1, 2);   // 1 number seen, 2 actions,
           shape.hidden[0] = 8;                          // and 8 tanh units between them
           rn_policy policy = rn_make_net_policy(&net, &shape);
           rn_trainer_desc desc = rn_make_trainer_desc(10, 3, envs, policy); // survive 3 of 10
           desc.method.horizon = 20;                     // steps of a trajectory
           desc.adversaries = 3;                         // the last three send -2.5 times theirs
           rn_status s = rn_trainer_create(&trainer, &desc);  // malloc; _init() takes your memory
           for (int t = 0; s == RN_OK && t < 100; t++) s = rn_trainer_run_round(trainer);
           if (s == RN_OK) s = rn_trainer_evaluate(trainer, &envs[10], 100, &score);
           printf("%s: %.0f\n", rn_status_text(s), score); // prints: ok: -1
           rn_trainer_destroy(trainer);                  // (-55 untrained; see rn_trainer_explain()
           return 0;                                     // if create() refuses)
       }

   CONTENTS     options, the algorithm, environments, policies, random numbers, agent, server,
                watching, trainer, federation, schedules, variance, special cases, it does not
                learn, adversaries, saving, theory, security, memory, threads, determinism, errors,
                API, code, changelog, licence
   OPTIONS      before the include: RN_STATIC (all functions static), RN_API (own linkage),
                RN_NO_STDLIB (no malloc: leaves out rn_trainer_create), RN_NO_AGGREGATORS (the code
                of aggregators.h is in another of your files). The file with the code gets
                <string.h> and <stdlib.h> by it; all others include what they use, such as
                <string.h> to memset a desc. For both headers: AGG_DOUBLE (double
                for float; the same in every file, a mix fails to link), AGG_NO_DISPATCH (do not
                look for AVX2 at run time; the bits stay the same)

   THE ALGORITHM  (Algorithm 1 of the paper.) A trajectory is one run of an environment, an episode,
   of at most H steps. Round t, agent n, with its own random numbers:
       q      ~ U[0,1]
       theta^ = q theta_t + (1-q) theta_{t-1}
       tau    ~ policy theta_t                               a trajectory
       tau^   ~ policy theta^                                a second, independent one
       v      = B(tau^, theta^) (theta_t - theta_{t-1})      E v = grad J_t - grad J_{t-1}
       d_n    = (1-eta_t) (d_n + v) + eta_t g(tau, theta_t)  d_n is kept from round to round
   Server:
       d           = F(d_1 .. d_N)                           F: any rule of aggregators.h
       theta_{t+1} = theta_t + gamma_t d/||d||
   with c_t = grad log pi_t . u and
       Psi_t  = sum_{h>=t} discount^h r_h (GPOMDP), or Psi_0 on every step (REINFORCE)
       g      = sum_t Psi_t grad log pi_t
       B u    = (sum_t Psi_t grad log pi_t) (sum_t c_t) + sum_t Psi_t hess log pi_t u; never forms B
   method.causal drops products that are zero on average: same expectation, less variance.
       B u    = sum_t (Psi_t sum_{s<=t} c_s + sum_{s>t} Psi_s c_s) grad log pi_t
              + sum_t Psi_t hess log pi_t u
   E v = grad J_t - grad J_{t-1} is the integral of hess J along the way from theta_{t-1} to
   theta_t: it holds for tanh, identity and tables. With ReLU it does not where a unit changes its
   sign for some observation on the way: grad log pi jumps there, no Hessian knows of the jump, and
   E v misses it (0.28 of a norm near 1 in a case; tests/test_rn_estimator.c has one of 0.14).
   In an agent's first round eta counts as 1 (there is no d yet). Where v does not count (eta = 1,
   or theta did not move) the second trajectory is not played. method.batch = m averages m
   trajectories for g and m for v, each with its own q.
   Two departures from the paper, both biased, both often worth it:
   method.flat: Psi_t/discount^t for Psi_t, so that late steps count as much as early ones (what is
       called policy gradient in practice). With G(theta) = E sum_t (Psi_t/discount^t) grad log pi_t
       E g = G(theta_t) and E v = G(theta_t) - G(theta_{t-1}), exactly. G is not grad J, nor the
       gradient of anything, unless discount = 1; the bias is all in that. The causal B u is then
       (W_t = Psi_t/discount^t)
       B u = sum_t (W_t sum_{s<=t} c_s + sum_{s>t} discount^(s-t) W_s c_s) grad log pi_t
           + sum_t W_t hess log pi_t u
   method.reuse: v = B(tau, theta_t) (theta_t - theta_{t-1}) on g's own trajectory, q = 1; a round
       takes half the trajectories. E v misses grad J_t - grad J_{t-1} by half the third derivative
       of J along the step, which is O(gamma^2); d gathers at most (1-eta)/eta times that.
   A third, for those who are often late or have no Hessian product (Fatkhullin et al. 2023):
   method.lookahead: theta~ = theta_t + ((1-eta_t)/eta_t) (theta_t - theta_{t-1})
                     d_n    = (1-eta_t) d_n + eta_t g(tau, theta~)         tau ~ policy theta~
       One trajectory, no v: what d lags behind is made good by looking ahead. If grad J were linear
       E d_t would be grad J_t wherever E d_{t-1} was grad J_{t-1}, however far apart they are; what
       is not linear is the bias. eta_t is an important choice here: 1/eta_t steps ahead are played.
       In the first round, and for eta 0 and 1, theta~ is theta_t. mean_return is that of theta~.

   TUNED        method.tuned: an agent sets its own eta_t and weight w_t of v; the plan's eta is not
                used, but for 1, which starts anew; nor is clip. v is that of method.reuse (of three
                ways to spend the second trajectory the one of least error).
                    d = (1-eta_t) (d + w_t v) + eta_t g
                Three filters, each with a d of its own, hold that 3/4, 1/10 or 1/1000 of ||v||^2 is
                the gradient's way and the rest noise. Each knows from that, and from Var g, which
                ||g - d||^2 tells, how far off its d is, and takes the w_t (0 .. 1) and eta_t (1/256
                .. 1) that make the error least. The one whose d_{t-1} was nearest to g_t, over the
                last 64 rounds, speaks. Nothing is to be chosen, nothing depends on a task's units.
                Bias: that of reuse; and d lags behind by (1-w_t) of each change of the gradient, as
                momentum (w = 0) does by all of it. Gains and choice depend on past rounds only, so
                they add none (the second round apart, where ||v|| is not known before).
                Costs three vectors more per agent.

   ENVIRONMENTS rn_env: reset and step with a `self` of yours, one instance per agent. Observations
                are obs_dim numbers. Actions: discrete (env.actions > 0), one number holding 0 ..
                actions-1; or continuous, act_dim numbers. step returns RN_RUNNING, RN_TERMINATED or
                RN_TRUNCATED; method.horizon truncates too. Both ends are treated alike by the
                estimators, as in the paper (J_H is the return of the first H steps). Take
                randomness only from the rng you are given, or runs will not repeat.
   POLICIES     rn_net: linear and multi-layer networks with a softmax or a Gaussian head. rn_table:
                one logit per state (obs[0], whole, 0 .. states-1; else the round ends with
                RN_ERR_ENV) and action. All with exact gradients and Hessian
                products. Your own: rn_policy with act and grad; that is enough. Whole trajectories
                cross the border, so that a policy can batch. Without dot and hvp, c_t comes from
                grad and hess u from a central difference of grad. theta of a net: for each layer
                W[in][out] row by row, then b[out]; at the end the free log-stds. The score of a
                Gaussian is bounded, as the paper's assumptions ask, if desc.clip bounds the
                actions, server.radius bounds theta, and your observations are bounded. Clipped
                samples bias the gradient a little. examples/policy_c.h writes what was learned as
                plain C, which needs no header.
   RANDOM       rn_random: xoshiro256**, 32 bytes of state. Stream k of a seed is its sequence
   NUMBERS      jumped k 2^128 steps ahead, so streams of one seed never meet. rn_draw_uniform,
                rn_draw_below, rn_draw_normal work on any agg_rng.
   AGENT        rn_agent_run_round(agent, theta_t, eta_t) makes d_t; rn_agent_direction() is what
                goes to the server. An agent that misses rounds is no problem: its v then spans from
                the last theta it saw, and E v is still right. Give each agent a stream of its own:
                two with the same seed and stream send the same rows. Across a network use
                rn_agent_run_plan(agent, plan) with the round's number: a plan that is delivered
                twice is made once and answered twice. desc.reach refuses a theta farther from the
                last than your server's steps are long: nothing is changed by it.
   SERVER       rn_server_update(server, rows) with N row pointers, NULL for the silent. Knows no
                policy and no environment. Updates: normalised (the paper), plain gamma d, Adam on
                d, Adam on d/||d||.
                server.soft: gamma_t times min(1, ||d_{t-1}||/rms), rms over ||d_1|| ..
                ||d_{t-1}||, each counted as at most 4 times the rms before it. Near the top the
                honest vectors vanish and those of adversaries do not; a normalised step then
                follows the adversaries as fast as ever, a soft one does not. It needs a resilient
                rule: who can inflate the first d holds all later steps down.
                server.kl: gamma_t from a budget instead, how far (Kullback-Leibler, on average) one
                step may move the policy in one decision. Each agent offers a number beside its row,
                rn_agent_curvature(): the mean of c_t^2/||u||^2, u being the step just made. F_t is
                the one in the middle of n: at most f hostile ones (0, giant, NaN, missing: counted
                as infinite) cannot bring it out of the range of the honest, and
                    gamma_t = s_t min(1, k_t/s_1)
                    k_t     = min(sqrt(2 kl/F_t), 2 k_{t-1}), k_0 = 0.001
                with s_t of the schedule, which so is the cap and the shape; give it a large value.
                More than f numbers that are none: k_t = k_{t-1}. Normalised updates only. The
                trainer does all this by itself (adversaries that attack by vector offer 0). Across
                a network send the number with the row, to rn_server_update_with(), and set
                method.curvature in the agents.
   WATCHING     server.watch: who lies? progress.evidence has a number for each agent, ln E, that
                starts at 0 and grows while its rows are odd. It removes nobody: that is yours to
                do. Each round the server takes what is new in a row, r = x_t - (1-eta_t) x_{t-1}
                (RN_WATCH_ROWS: x_t, for agents without memory: method.no_memory, or eta 1), and
                marks the k = f (or 1) agents that are
                    farthest from the median of all r, or nearest to it (as means of rows are),
                    nearest to another's r (as rows made together are),
                    most against d_{t-1} (least r . d_{t-1}).
                Equals are marked all or not at all, so never more than k. E is a coin that is bet
                on being marked, at the odds (n-f)/k. If an agent is honest, if the honest ones are
                alike (same environment, same method) and if the adversaries do not look at this
                round's rows in order to frame it, then E is 1 or less on average, however many
                rounds pass, and
                    P(E >= 1/alpha in any round) <= alpha        (Ville)
                so compare with rn_evidence_limit(alpha, n), ln(n/alpha): 6.9 for a false alarm
                about one of ten in one run of a hundred. Who begins late is found as well; who
                stops is not forgotten. Agents that each have a baseline or clip of their own are
                not quite alike: server.slack = 0.1 raises the chance of a mark, that honest ones
                are granted, from k/(n-f) to 1.1 k/(n-f); rn_make_trainer_desc() sets it. Missing
                rows, and rows after a missing one, count neither way; a row with NaN or infinity
                is marked in all four. Measured (`make detection`: CartPole, 3 of 10 lie, 150
                rounds): 2 of 280 runs had a false alarm at 6.9. Rows made together are found in
                round 16, NaN in 13; of random actions, flipped signs and signs flipped slowly
                22, 18 and 6 of 24, half of the first two within 49 and 101 rounds.
                Not for: agents with different environments or method.tuned (whose eta the server
                does not know: 17 of 100 honest ones reached 6.9). Flipped rewards, mimics and rows
                with 3 of 10 numbers dropped are not found.
                A copy cannot be told from its original: if f agents copy one honest row nobody is
                marked, but fewer copies bring their victim into suspicion with them.
                Costs 2 n rows of memory and n^2 dim/2 multiplications a round.
   TRAINER      N agents and a server in one process. rn_trainer_run_round() runs a round.
                rn_trainer_tick(trainer, budget) does a part of it, for programs that live in
                frames. A budget is in environment steps: one step counts 1; what is made of it at
                the end of its trajectory counts 2 for g, 1 for c, 3 for v, about what it takes with
                a net, and is done in blocks of 64 steps (a policy of yours: all at once); the end
                of a round, aggregation included, counts 2 N^2 + 64 N, two and a half times that
                with server.watch, and is done in windows of 512 numbers of theta, or 16 pairs of
                rows. A piece that does not fit what is left waits for the next tick; one larger
                than the whole budget is done alone. The agents take turns, as many at a time as the
                budget has room for. In one piece, whatever it takes, are: what the end of a round
                is with an aggregate of yours, with DnC, SignGuard, GAS or bucketing, with attacks
                that draw, remember or try the rule, or after a load in its middle; the searches of
                MDA, SMEA and GM; theta's update.
                `make bench` measures the longest tick beside the median: it is about three times
                that, for N = 10 and 100 with 64-64 and 128-128 (bench/frames.c).
                desc.jobs spreads the agents over your threads; without it agents with a small net
                of this header step side by side, all others one after the other. desc.progress is
                called after each round.

   FEDERATION   Agents and server on different machines. rn_hub is the server and who is who,
                rn_peer an agent and what it was asked last; both are state machines over bytes, in
                your memory, without a socket, a clock or a thread. A transport is a loop:
                    the server's:                           an agent's:
                    while (running) {                       while (running) {
                        bytes came over link i:                 bytes came:
                          rn_hub_receive(h, i, p, size);          rn_peer_receive(a, p, size);
                        rn_hub_tick(h, now, &progress);         rn_peer_tick(a, now, 1000, NULL);
                        while (rn_hub_next(h, &m))              while (rn_peer_next(a, &m))
                          send to m.to: m.bytes, m.size           send m.bytes, m.size
                    }                                       }
                rn_make_hub_desc() and rn_make_peer_desc() take their halves of one trainer's desc;
                with no row missing theta is then that of the trainer, bit by bit.
                Messages may be lost, doubled, reordered or damaged: a peer that hears nothing for
                desc.retry joins again, and whoever joins is sent the plan. What the peer has made
                of it already it sends again. A message has 80 bytes, and 4 (double: 8) for each
                number of theta or d.
                The link says who a message is from: give each key or address an index of its own
                (one key, one vote), and pass that index, not what the message says. Both must
                agree. Everything else is checked too before anything changes: length, checksum,
                version, run, kind, dim, policy and method, round, and which plan is answered. What
                is refused is counted, rn_hub_report(), and its sender told why. The first row of a
                round counts; a row with a NaN or Inf convicts its sender, as in aggregators.h.
                A round ends when all rows are in. With desc.patience it ends without those who are
                late, if a quorum is in: late is not guilty, so that n shrinks and f stays; there
                must be 2f+1 at least (what f hostile rows among those in time can do, lambda says).
                desc.stale = A takes the last row of who is late, up to A rounds old. They count in
                the update, and with desc.fresh for the quorum too: then f+1 rows of the round or
                more are enough, if 2f+1 can be used (`make delay` shows what that is worth).
                Numbers are float or double on either side. peer.half sends a row in 16 bits a
                number, with one scale for all: half the bytes; the error of a number is at most
                2^-11 of itself, or 2^-39 of the largest, if that is more. At most 0.0003 of ||d||
                in all was measured.
                Save both sides as often as you like: rn_hub_save() holds the server's state and who
                has left, and after rn_hub_load() the peers are told to join again and do so by
                themselves; a peer goes on from rn_peer_load(), or afresh. Older states are no
                problem either: a row says which plan it answers, by a checksum of that.

   SCHEDULES    value at round t = 1, 2, ..
                RN_SCHEDULE_CONSTANT   value
                RN_SCHEDULE_LINEAR     value to end within `rounds`, then end
                RN_SCHEDULE_STAIRCASE  value factor^floor((t-1)/rounds)
                RN_SCHEDULE_INVERSE    value/(floor(t/rounds) + shift)
                RN_SCHEDULE_CALLBACK   at(self, t)
                gamma at 0: theta stands still, progress.still is 1, and no status says so. A run
                without a last round ends a schedule above 0, as rn_make_trainer_desc() does.
                The theorem's: rn_theory_gamma(G1, muF) = 6 G1/(muF (t+2)), rn_theory_eta() = 1/t,
                rn_theory_horizon(T, discount) = log(T+1)/(1-discount). They serve a bound: on
                CartPole they learn too slowly to see. rn_make_trainer_desc() has a recipe that
                learns (its constants stand beside it).
   VARIANCE     method.baseline, subtracted from Psi_t, fitted to past rounds only, so that nothing
                is biased:
                RN_BASELINE_TIME: running mean of Psi_t at each t, over the trajectories that got so
                far.
                RN_BASELINE_RIDGE: discount^t V(s,t), V linear in 1, x, x^2, x^3 (x = t/H), s_i,
                s_i^2; ridge regression on past rounds, which count method.forget (0.9) less each
                round. Meant for obs_dim up to about 100.
                method.whiten: Psi_t to mean 0, deviation 1 within a trajectory (what the authors'
                code does; biased).
                method.flat, method.reuse: see THE ALGORITHM (biased).
                method.clip: ||v|| at most clip ||d_{t-1}|| (biased).
                method.no_memory: each round starts from d = 0, as in the authors' code (no
                recursion, much noise).
   SPECIAL      (from a zeroed desc; rn_make_trainer_desc() sets flat, not with REINFORCE, reuse,
   CASES        not with no_hessian or lookahead, and soft, not with RN_UPDATE_PLAIN;
                rn_make_tuned_trainer_desc() sets NNM too, not for a mean.)
                N-HARPG: agg.rule = AGG_MEAN. Vanilla PG: method.no_hessian, eta constant 1,
                AGG_MEAN, RN_UPDATE_PLAIN. Momentum PG: method.no_hessian. REINFORCE:
                method.estimator. One agent alone: agents = 1, f = 0.
   IT DOES NOT  Ask rn_trainer_explain() first: what it calls a hint is often the reason. Then look
   LEARN        at progress, round by round, and change one thing at a time.
                gamma: the length of a step in theta. progress.mean_return rises, then falls or
                jumps: halve gamma. It creeps upwards and never falls: double it. theta gets no
                farther than the sum of all gamma_t, about 0.16 100/2 = 8 in the recipe's first 100
                rounds and 0.004 in each one after them: a larger net or more weight to move wants
                more rounds or a larger gamma. Give the schedule the rounds that you will run.
                progress.still: the step is 0, nothing changes any more.
                discount: a reward that comes k steps after an action counts discount^k for it. So
                1/(1-discount) should be some times the delay that matters: 0.995 is for 200
                steps, 0.9 for 10. Lower is less noise.
                horizon: as long as it takes to see that delay, 3/(1-discount) at most, unless a
                task pays late or by its length; what is longer costs time and noise.
                rounds: an agent plays batch trajectories in each (twice that without reuse or
                no_hessian); hundreds are usual, thousands for a body with legs.
                Rewards: their scale does not matter (normalised updates, Adam, kl, clip, soft and
                the baselines have no units; RN_UPDATE_PLAIN has). An amount paid in every step
                does, where trajectories end by themselves: below 0 it pays to end soon.
                Observations: each about as large as 1, or tanh units saturate; divide by a typical
                size, or take examples/envs/scaled.h. What an agent must tell apart must be in
                them: there is no memory.
                net.log_std: the logarithm of the deviation, so 0 is a deviation of 1. A third of
                the range of the actions is a start (log_std = log(range/3)): with less nothing is
                found, with more nothing is seen of the mean.
                Evaluation: progress.mean_return is of sampled actions, rn_trainer_evaluate() plays
                the most likely ones. Early it is often better than what was sampled, and sometimes
                much worse (one action everywhere). evaluation.sampled = 1 is like with like. If the
                two stay apart, the policy lives by its noise: lower log_std, or go on.
                Rows: progress.dropped above 0 in every round: rn_trainer_agent_status() says why.
                suspicion of an honest agent high: its environment differs; AGG_PRE_NNM helps.
   ADVERSARIES  for experiments: the last desc.adversaries agents, or any by desc.attacks.
                RN_ATTACK_VECTOR: agg_attack() on the rows the honest send, or attack.make, which is
                yours. RN_ATTACK_RANDOM_ACTION: actions uniform, whatever the state.
                RN_ATTACK_REWARD_FLIP: rewards with the other sign. RN_ATTACK_SILENCE: no row. The
                vector an adversary keeps for itself, and its recursion, stay true.
                RN_ATTACK_REWARD_POISON: to the rewards of a trajectory of T steps is added what
                makes g . u least, u = theta_t - theta_{t-1}, among all with the same mean square,
                eps^2 (vector.strength, 0 = 1): -eps sqrt(T) k_h/||k||, where g . u = sum_h k_h r_h
                and so
                    k_h = discount^h sum_{s<=h} c_s              GPOMDP
                    k_h = sum_{s<=h} discount^(h-s) c_s          flat
                    k_h = discount^h sum_s c_s                   REINFORCE
                (before a baseline, which learns from it, or whitening). Costs policy.dot; knows
                theta and its own trajectories only.
                attack.knows: what it builds on. Everything, the paper's model: no attack of the
                real world has so much. Adversaries: the true rows of those that attack by vector.
                Own: one row, theta, theta_{t-1}. With less than everything the rows it knows stand
                for those it does not: they are repeated until they are as many as the honest are.
                attack.wait, attack.ramp: slow poison. Honest for `wait` rounds, then own + share
                (attack - own), share growing to 1 within `ramp` rounds.
                What agg_attack() asks for is filled in: n, f; rule: the server's, with dice of its
                own (the server's cannot be foreseen); last: the last aggregate, unless it knows its
                own row only; step; scratch and memory. With server.aggregate there is no rule:
                kinds that try one (line search, opt-cos, normalised, worst) then need vector.rule,
                or RN_ERR_DESC. Adversaries with the same attack share a row that is costly and the
                same for all. Room is laid out for desc.attack (also if adversaries is 0, so that it
                can be set later) and desc.attacks.

   SAVING       rn_trainer_save writes little-endian bytes with magic, version, sizes and a CRC-32;
                rn_trainer_load into a trainer initialised with the same desc goes on with the same
                bits. Everything is checked before anything is changed: sizes, ranges, finite
                numbers, and what your callbacks will be given: actions (whole and 0 .. actions-1,
                or what policy.accepts_act says), observations (policy.accepts_obs: for a table,
                one of its states). What env.load gets is checked by nobody but env.load: it must
                refuse what would lead it out of its arrays. In the middle of a round saving needs
                env.save and env.load; between rounds it does not. A host's own rng and policy state
                are the host's to save; attacks set by rn_trainer_set_attack (set them again before
                you load) and the last rn_trainer_progress are not saved.
   THEORY       rn_theory_constants: L, G_g, G_H, D_g, D_h, C1, C2, C3; rn_theory_bound: the
                finite-T bound on J* - J(theta_T); rn_theory_trajectories: what it needs for a
                target. Worst-case constants: expect astronomical numbers.

   SECURITY     (each sentence up to "not promised" has its test: see tests/test_both_promises.c)
   Rows: as aggregators.h says (missing or not finite: dropped, f shrinks; at most f adversaries are
   survived). If the rule refuses (more than f such rows) no update is made: theta stays. theta is
   finite after every round. An environment that gives a NaN or infinite reward or observation, an
   observation that policy.accepts_obs refuses (for a table: none of its states), or an unknown
   result, ends its agent's round with RN_ERR_ENV; a policy that gives an impossible
   action or a NaN gradient with RN_ERR_POLICY. Such an agent keeps d and theta_{t-1} as they were,
   sends nothing this round and goes on in the next. An environment that never ends is cut at the
   horizon. Options out of range: RN_ERR_DESC. Saved bytes may come from an enemy: all lengths,
   ranges and numbers are checked before anything is changed, no callback is given an action or
   observation that policy and environment could not have made, and env.load may refuse.
   A plan with a theta or eta that is not finite, an eta out of range, or a theta beyond desc.reach
   changes nothing in an agent.
   Federation: agents are trusted with nothing, up to f of them; the network with nothing but to
   say which link a message came over, if its links have keys (else whoever can write to a link is
   that agent); the server with theta. What arrives may be anybody's: a message that is damaged,
   forged, of another run, round, plan (desc.stale: any older one), sender, kind or length is
   refused, and changes nothing but the report. Memory is what rn_hub_size() says, whatever arrives
   and how often. One link has one vote: the first row of a round counts, repeats are counted and
   not stored. Late rows convict nobody; fewer than 2f+1 make no update. Messages that are lost,
   doubled, reordered or damaged, and sides that die and come back from what they saved, change no
   bit of theta if all rows are waited for.
   Not promised: that agents are those you think, without keys, or that one person has not many
   keys: make a list of those allowed. That a server is there, or answers: who floods a link is your
   transport's to slow down. That a server is honest: an agent goes wherever theta is. desc.reach
   finds accidents; who lies about theta can lie about the round's number, by which reach is
   multiplied. That a saved state is the one you saved. CRC-32 finds accidents, not forgers: who can
   write the bytes can choose theta. Sign them if that matters. Secrecy: the vectors tell much about
   the data they come from. That random numbers cannot be guessed: xoshiro256** is not for
   cryptography. That your callbacks behave: they are trusted to stay within their arrays and to
   return.

   MEMORY       rn_*_size() says how many bytes, you give the block (no alignment asked) and it must
                stay where it is; nothing to free. Nothing is written to a block that is too small.
                Descs are copied, arrays in them too; what `self` pointers point to, rn_net
                included, must outlive. rn_trainer_create/destroy use malloc/free once each.
   THREADS      (tests: as for SECURITY) There are no variables, only constants. Different objects:
                any threads at once. With desc.jobs, the env, policy and rng callbacks of different
                agents run on your threads at the same time, never two for one agent; progress,
                schedules, aggregate and the server's rng are only called from the thread that
                called the trainer. rn_net and rn_table are not written while in use, so that all
                agents and trainers can share one. The number of threads changes no bit.
                Not promised: one object on two threads at once, const functions included. A
                policy's self is shared by all agents: yours must be read only too.
   DETERMINISM  same seed, same bits: for any number of threads, any tick budgets, wherever a run is
                saved and goes on, with any compiler, language, optimisation, instruction set, byte
                order and width of size_t that aggregators.h accepts; see there. Own exp, log, tanh,
                cos; sums in a fixed order; no fma. The environments are yours: libm does not have
                the same bits everywhere.
   ERRORS       calls return rn_status; outputs are untouched on error unless said otherwise.
                RN_MORE is not an error. Nothing prints, aborts or asserts on your data. Which field
                of a desc is refused, and why: rn_trainer_explain() and its like, in words. */

/* clang-format off */
#if !defined(RESNHARPG_H) && !defined(__cplusplus) && !defined(_MSC_VER) && \
    (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "resnharpg.h: this is C99 or C++11: -std=c99 or later, not -std=c89, -ansi or gnu89"
#define RESNHARPG_H /* and nothing else */
#define RESNHARPG_IMPLEMENTED
#endif
#ifndef RESNHARPG_H
#define RESNHARPG_H
#define RN_VERSION_MAJOR 0
#define RN_VERSION_MINOR 5
#define RN_VERSION_PATCH 0
#if defined(RN_STATIC) && !defined(AGG_STATIC) && !defined(AGGREGATORS_H)
  #define AGG_STATIC
#endif
#include "aggregators.h"
#ifndef RN_API
  #if !defined(RN_STATIC)
    #define RN_API extern
  #elif defined(__GNUC__) || defined(__clang__)
    #define RN_API static __attribute__((unused))
  #else
    #define RN_API static
  #endif
#endif
#ifdef AGG_DOUBLE /* a mix of float and double fails to link */
  #define rn_make_net_policy     rn_make_net_policy_f64
  #define rn_make_table_policy   rn_make_table_policy_f64
  #define rn_policy_act          rn_policy_act_f64
  #define rn_policy_work_size    rn_policy_work_size_f64
  #define rn_add_hessian_product rn_add_hessian_product_f64
  #define rn_make_trainer_desc   rn_make_trainer_desc_f64
  #define rn_make_tuned_trainer_desc rn_make_tuned_trainer_desc_f64
  #define rn_agent_size          rn_agent_size_f64
  #define rn_agent_init          rn_agent_init_f64
  #define rn_agent_begin_round   rn_agent_begin_round_f64
  #define rn_agent_run_round     rn_agent_run_round_f64
  #define rn_agent_begin_plan    rn_agent_begin_plan_f64
  #define rn_agent_run_plan      rn_agent_run_plan_f64
  #define rn_agent_direction     rn_agent_direction_f64
  #define rn_server_size         rn_server_size_f64
  #define rn_server_init         rn_server_init_f64
  #define rn_server_theta        rn_server_theta_f64
  #define rn_server_direction    rn_server_direction_f64
  #define rn_server_plan         rn_server_plan_f64
  #define rn_server_update       rn_server_update_f64
  #define rn_server_update_with  rn_server_update_with_f64
  #define rn_server_update_from  rn_server_update_from_f64
  #define rn_trainer_size        rn_trainer_size_f64
  #define rn_trainer_init        rn_trainer_init_f64
  #define rn_trainer_create      rn_trainer_create_f64
  #define rn_trainer_theta       rn_trainer_theta_f64
  #define rn_trainer_evaluate    rn_trainer_evaluate_f64
  #define rn_evaluate            rn_evaluate_f64
  #define rn_make_hub_desc       rn_make_hub_desc_f64
  #define rn_hub_size            rn_hub_size_f64
  #define rn_hub_init            rn_hub_init_f64
  #define rn_hub_tick            rn_hub_tick_f64
  #define rn_make_peer_desc      rn_make_peer_desc_f64
  #define rn_peer_size           rn_peer_size_f64
  #define rn_peer_init           rn_peer_init_f64
  #define rn_agent_explain       rn_agent_explain_f64
  #define rn_server_explain      rn_server_explain_f64
  #define rn_trainer_explain     rn_trainer_explain_f64
  #define rn_hub_explain         rn_hub_explain_f64
  #define rn_peer_explain        rn_peer_explain_f64
  #define rn_evaluator_init      rn_evaluator_init_f64
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef agg_real rn_real;

#define RN_STATUS_LIST(X)                                                                          \
    X(RN_OK,            "ok")                                                                      \
    X(RN_MORE,          "the budget is spent and it is not finished: call again")                  \
    X(RN_ERR_ARG,       "null pointer or zero length")                                             \
    X(RN_ERR_DESC,      "an option is out of range, or two do not fit: rn_..._explain() tells")    \
    X(RN_ERR_SIZE,      "the sizes are so large that a product overflows")                         \
    X(RN_ERR_MEMORY,    "the memory block is smaller than _size() says, or malloc failed")         \
    X(RN_ERR_ORDER,     "not now: a round is under way, or none is")                               \
    X(RN_ERR_THETA,     "theta, gamma or eta is not finite or out of range")                       \
    X(RN_ERR_ENV,       "the environment gave what is not finite, or not known to the policy")     \
    X(RN_ERR_POLICY,    "the policy gave an impossible action or a gradient that is not finite")   \
    X(RN_ERR_AGGREGATE, "the aggregation refused, so no update was made: see progress.aggregate")  \
    X(RN_ERR_FORMAT,    "not a saved state, or of another version or precision")                   \
    X(RN_ERR_MISMATCH,  "a saved state of another kind, of other sizes or options")                \
    X(RN_ERR_CORRUPT,   "the saved state is damaged")                                              \
    X(RN_ERR_NO_SAVE,   "in the middle of a round the environment must have save and load")        \
    X(RN_ERR_REACH,     "theta is farther from the last one than desc.reach: nothing was done")
#define RN_X(id, text) id,
typedef AGG_ENUM(rn_status) { RN_STATUS_LIST(RN_X) RN_STATUS_COUNT } rn_status;
#undef RN_X
RN_API const char *rn_status_text(rn_status s); /* never NULL */

/* ---- random numbers */
typedef struct rn_random { uint64_t s[4]; } rn_random;        /* plain data: copy it, save it */
RN_API rn_random rn_make_random(uint64_t seed, uint32_t stream);
RN_API uint64_t  rn_random_next(rn_random *r);
RN_API agg_rng   rn_random_rng(rn_random *r);                 /* as a callback; r must outlive it */
RN_API double    rn_draw_uniform(const agg_rng *rng);         /* [0,1), 53 bits */
RN_API size_t    rn_draw_below(const agg_rng *rng, size_t n); /* 0 .. n-1, exactly uniform; n > 0 */
RN_API double    rn_draw_normal(const agg_rng *rng);          /* mean 0, variance 1 */

/* ---- the environment */
typedef AGG_ENUM(rn_step_result) { RN_RUNNING, RN_TERMINATED, RN_TRUNCATED } rn_step_result;
typedef struct rn_env {
    void  *self;
    void (*reset)(void *self, const agg_rng *rng, rn_real *obs);
    rn_step_result (*step)(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward);
    size_t obs_dim;            /* numbers per observation             required */
    size_t act_dim;            /* numbers per action                  required; 1 if discrete */
    size_t actions;            /* discrete: how many                  0 = continuous */
    double act_low, act_high;  /* continuous: range for random actions       both 0 = -1 .. 1 */
    size_t state_size;         /* saving in the middle of a trajectory       0 = cannot */
    void (*save)(const void *self, void *bytes);
    int  (*load)(void *self, const void *bytes); /* 0 = refused, self unchanged. bytes may be an
                                                    enemy's: check every index in them */
} rn_env;                      /* act_low, act_high clip nothing: clipping is the environment's */

/* ---- the policy. Shapes: theta, u, g, h: dim; obs: T rows of obs_dim; act: T rows of act_dim; w,
   k, c: T. work: work_size(self, T) bytes, aligned to 64. */
typedef struct rn_policy {
    void  *self;
    size_t dim, obs_dim, act_dim;
    size_t actions;            /* discrete: how many                  0 = continuous */

    /* samples an action; rng == NULL: the most likely one */
    void (*act)(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *rng,
                rn_real *act, void *work);

    /* g += sum_t w_t grad log pi_t */
    void (*grad)(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                 const rn_real *act, const rn_real *w, rn_real *g, void *work);

    /* c_t = grad log pi_t . u                                        NULL: by grad */
    void (*dot)(void *self, const rn_real *theta, const rn_real *u, size_t T, const rn_real *obs,
                const rn_real *act, rn_real *c, void *work);

    /* h += sum_t w_t hess log pi_t u + k_t grad log pi_t (k == NULL: 0). Called right after dot
       with the same arguments: what dot left in work is there.       NULL: by differences */
    void (*hvp)(void *self, const rn_real *theta, const rn_real *u, size_t T, const rn_real *obs,
                const rn_real *act, const rn_real *w, const rn_real *k, rn_real *h, void *work);

    /* bytes of work for up to T steps, for act alone if T is 0; 0 = too large    NULL: none */
    size_t (*work_size)(void *self, size_t T);

    /* called before the acts of a trajectory                         NULL: nothing */
    void (*prepare)(void *self, const rn_real *theta, void *work);

    /* where to start                                                 NULL: zeros */
    void (*init)(void *self, const agg_rng *rng, rn_real *theta);

    /* 1: obs is one that the functions above can be given. Asked before each act, and of what a
       saved state holds                                              NULL: all that are finite */
    int (*accepts_obs)(void *self, const rn_real *obs);

    /* 1: act is one that `act` could have given. Asked of what a saved state holds, after finite
       or, discrete, whole and 0 .. actions-1                         NULL: nothing more */
    int (*accepts_act)(void *self, const rn_real *act);
} rn_policy;

/* bytes of work for any start address; T = 0: for act alone; 0: T is too large */
RN_API size_t    rn_policy_work_size(const rn_policy *p, size_t T);
RN_API rn_status rn_policy_act(const rn_policy *p, const rn_real *theta, const rn_real *obs,
                               const agg_rng *rng, rn_real *act, void *work, size_t work_size);

/* RN_RELU: E v misses the jumps of the gradient, see THE ALGORITHM */
typedef AGG_ENUM(rn_activation) { RN_TANH, RN_RELU, RN_IDENTITY } rn_activation;
#define RN_MAX_HIDDEN 4
typedef struct rn_net_desc {   /* zero it or use rn_make_net_desc() */
    size_t  obs_dim;           /*                                     required */
    size_t  outputs;           /* softmax: actions; Gaussian: act_dim required */
    size_t  hidden[RN_MAX_HIDDEN]; /* units per layer, up to the first 0     none = linear */
    int     gaussian;          /* 0 = softmax, 1 = Gaussian, independent per number */
    int     state_std;         /* Gaussian: 1 = log-std is a second row of outputs, 0 = free */
    int     no_bias;           /* 1 = no biases */
    int     tanh_head;         /* 1 = tanh on logits or means (the authors' code) */
    rn_activation activation;  /* 0 = tanh */
    double  log_std;           /* Gaussian: at the start              0 is a deviation of 1 */
    double  log_std_min;       /* Gaussian: log-std is clamped to min .. max; both 0 = not */
    double  log_std_max;
    double  clip;              /* Gaussian: samples are clamped to +-clip    0 = not */
    double  out_scale;         /* initial output weights times this   0 = 0.1 */
} rn_net_desc;
typedef struct rn_net {        /* yours to keep where it is; read only while in use */
    rn_net_desc desc;
    size_t layers, dim;
    size_t in[RN_MAX_HIDDEN + 1], out[RN_MAX_HIDDEN + 1];
    size_t offset[RN_MAX_HIDDEN + 1]; /* of W in theta */
} rn_net;
typedef struct rn_table { size_t states, actions; } rn_table;

/* fill net or table, which the policy points to; policy.dim == 0: unusable */
RN_API rn_net_desc rn_make_net_desc(size_t obs_dim, size_t outputs);
RN_API rn_policy   rn_make_net_policy(rn_net *net, const rn_net_desc *d);
RN_API rn_policy   rn_make_table_policy(rn_table *table, size_t states, size_t actions);

/* ---- how an agent estimates */
typedef AGG_ENUM(rn_estimator) { RN_GPOMDP, RN_REINFORCE } rn_estimator;
typedef AGG_ENUM(rn_baseline) { RN_BASELINE_NONE, RN_BASELINE_TIME, RN_BASELINE_RIDGE } rn_baseline;
typedef struct rn_method {
    size_t       horizon;      /* H, steps per trajectory at most     0 = 1000 */
    size_t       batch;        /* m, trajectories per estimate        0 = 1 */
    double       discount;     /* 0 .. 1                              0 is 0 */
    rn_estimator estimator;    /*                                     0 = GPOMDP */
    rn_baseline  baseline;     /*                                     0 = none (the paper) */
    int          no_hessian;   /* 1 = v is 0 and no second trajectory 0 = the paper */
    int          causal;       /* 1 = the causal form of B u          0 = the paper's */
    int          whiten;       /* 1 = Psi to mean 0, deviation 1 */
    double       clip;         /* ||v|| at most clip ||d||            0 = no clip */
    double       forget;       /* baselines: weight of the past per round    0 = 0.9 */
    double       ridge;        /* ridge baseline: times the diagonal  0 = 1e-3 */
    int          no_memory;    /* 1 = d_{t-1} counts as 0: d = (1-eta) v + eta g */
    int          flat;         /* 1 = Psi_t/discount^t for Psi_t; not with REINFORCE, biased */
    int          reuse;        /* 1 = v from g's own trajectories, q = 1, no second ones; not with
                                  no_hessian, bias O(gamma^2) */
    int          tuned;        /* 1 = eta and the weight of v from the agent's own trajectories, see
                                  TUNED; brings reuse with it, has no use for clip; not
                                  with no_memory or no_hessian */
    int          curvature;    /* 1 = measure rn_agent_curvature(), for server.kl; costs policy.dot
                                  where v is not made            0 = no; trainer: as the server */
    int          lookahead;    /* 1 = g where the last step leads, no v: see THE ALGORITHM; brings
                                  no_hessian with it; not with reuse, tuned or no_memory */
} rn_method;

/* v += B(tau, theta) u for one trajectory, for tests and agents of your own; zero it first */
typedef struct rn_hessian_product {
    const rn_policy *policy;
    const rn_real   *theta, *u; /* dim numbers each */
    size_t           T;         /* steps of tau */
    const rn_real   *obs, *act; /* T rows of obs_dim, T rows of act_dim */
    const rn_real   *psi;       /* T numbers: Psi_t, as rn_compute_returns_to_go() makes them */
    int              causal;    /* as method.causal */
    rn_real         *k, *c;     /* scratch: T numbers each */
    rn_real         *tmp;       /* scratch: 3 dim numbers, only without policy.dot or policy.hvp */
    void            *work;      /* scratch of the policy, for T steps */
    int              flat;      /* as method.flat: psi is flat ...           0 = the paper's */
    double           discount;  /* ... and this its discount; read only if flat and causal */
} rn_hessian_product;
RN_API void rn_add_hessian_product(const rn_hessian_product *b, rn_real *v);

/* Psi_t of GPOMDP (flat or not) or REINFORCE, without baseline; reward, psi: T numbers */
RN_API void rn_compute_returns_to_go(const rn_method *m, size_t T, const double *reward,
                                     double *psi);

/* ---- attacks, for experiments */
typedef AGG_ENUM(rn_attack_kind) {
    RN_ATTACK_VECTOR, RN_ATTACK_RANDOM_ACTION, RN_ATTACK_REWARD_FLIP, RN_ATTACK_SILENCE,
    RN_ATTACK_NONE, RN_ATTACK_REWARD_POISON
} rn_attack_kind;
typedef AGG_ENUM(rn_knowledge) { /* the true rows an adversary has before it sends its own */
    RN_KNOWS_ALL,              /* those of all honest agents: the paper's model */
    RN_KNOWS_ADVERSARIES,      /* its own and those of the others that attack by vector */
    RN_KNOWS_OWN               /* its own */
} rn_knowledge;
typedef struct rn_view {       /* what an attack of your own is told */
    size_t agent, round;       /* who sends, 1 .. */
    size_t n, f, dim;          /* agents, adversaries among them, parameters */
    const rn_real *const *rows; /* the rows it knows, ... */
    size_t         count;      /* ... so many */
    const rn_real *own;        /* what it would send if it were honest */
    const rn_real *theta, *last; /* theta_t; the last aggregate, zeros if there is none, NULL for
                                  who knows its own row only */
    const rn_real *step;       /* theta_t - theta_{t-1}, zeros in the first round */
    const agg_desc *rule;      /* the server's, with dice of the attack's; NULL: the host's own */
    agg_rng        rng;        /* saved with the trainer */
} rn_view;
typedef struct rn_attack {     /* zero = sign flipping */
    agg_attack_desc vector;    /* RN_ATTACK_VECTOR; n, f, rng, rule, last, step, memory and scratch
                                  are filled in if 0; strength is also that of REWARD_POISON */
    rn_attack_kind  kind;
    rn_knowledge    knows;     /* RN_ATTACK_VECTOR                    0 = everything */
    size_t          wait, ramp; /* slow poison: rounds it is honest at first, and rounds from there
                                  to full strength (20 and 30 are the classic); RN_ATTACK_VECTOR
                                  and RN_ATTACK_REWARD_POISON         0 = at once */
    int           (*make)(void *self, const rn_view *v, rn_real *row); /* RN_ATTACK_VECTOR: yours
                                  writes the row and returns 1, or 0 to send nothing; from the
                                  trainer's thread                    NULL = vector.kind */
    void           *self;
} rn_attack;

/* ---- one agent */
typedef struct rn_agent rn_agent;
typedef struct rn_agent_desc {
    rn_env      env;           /*                                     required */
    rn_policy   policy;        /*                                     required */
    rn_method   method;
    uint64_t    seed;          /* all agents of a run share the seed ...     0 is 0 */
    uint32_t    stream;        /* ... and DIFFER IN THE STREAM: two with the same seed and stream
                                  (two zeroed descs!) play the same trajectories and send the same
                                  rows: n agents that are worth one, and look like n      0 is 0 */
    agg_rng     rng;           /* your own random numbers instead     next == NULL = built in */
    int         random_action; /* an adversary: RN_ATTACK_RANDOM_ACTION */
    int         flip_reward;   /* an adversary: RN_ATTACK_REWARD_FLIP */
    double      reach;         /* most that ||theta_t - theta_{t-1}|| may be, for each round that
                                  the plan's number went on (1 if it has none): beyond, the plan is
                                  refused, RN_ERR_REACH. A server with normalised updates moves by
                                  gamma: give 1 % more, for rounding             0 = anything */
    double      eta_min;       /* plans with a smaller eta are refused, RN_ERR_THETA   0 = any */
    double      poison;        /* an adversary: RN_ATTACK_REWARD_POISON, eps  0 = none */
} rn_agent_desc;
typedef struct rn_plan {       /* what a server asks of an agent */
    const rn_real *theta;      /* theta_t, dim numbers                required */
    double         eta;        /* eta_t, 0 .. 1 */
    size_t         round;      /* t, see rn_agent_run_plan()          0 = no number */
} rn_plan;
typedef struct rn_stats {
    uint64_t rounds, trajectories, steps; /* since the start */
    double   mean_return;      /* undiscounted; of the last round's trajectories with theta_t */
    double   mean_length;
} rn_stats;
RN_API size_t         rn_agent_size(const rn_agent_desc *d); /* 0: rn_agent_init() says why */
RN_API rn_status      rn_agent_init(rn_agent **agent, const rn_agent_desc *d, void *memory,
                                    size_t size);

/* run_round: begin_round, which copies theta, then tick to the end; used may be NULL */
RN_API rn_status      rn_agent_run_round(rn_agent *a, const rn_real *theta, double eta);
RN_API rn_status      rn_agent_begin_round(rn_agent *a, const rn_real *theta, double eta);
RN_API rn_status      rn_agent_tick(rn_agent *a, size_t budget, size_t *used);

/* The same, with a number. A plan that the agent has made last (number, theta and eta are the same)
   is not made again: no trajectory is played, d is the answer it was. A network may so deliver it
   twice. Any other plan is a new round, also one with a lower number (a server that was resumed
   from an older state), or with the number of the last and another theta. Which rows are too old to
   be used is the server's to know: send the number back with the row. */
RN_API rn_status      rn_agent_run_plan(rn_agent *a, const rn_plan *plan);
RN_API rn_status      rn_agent_begin_plan(rn_agent *a, const rn_plan *plan);
RN_API const rn_real *rn_agent_direction(const rn_agent *a); /* d; NULL before a round is done */
RN_API double         rn_agent_curvature(const rn_agent *a); /* mean c_t^2/||u||^2; -1: not known */
RN_API rn_stats       rn_agent_stats(const rn_agent *a);
RN_API size_t         rn_agent_save_size(const rn_agent *a); /* bytes of rn_agent_save() now */
RN_API rn_status      rn_agent_save(const rn_agent *a, void *bytes, size_t size);
RN_API rn_status      rn_agent_load(rn_agent *a, const void *bytes, size_t size);

/* ---- schedules */
typedef AGG_ENUM(rn_schedule_kind) {
    RN_SCHEDULE_CONSTANT, RN_SCHEDULE_LINEAR, RN_SCHEDULE_STAIRCASE, RN_SCHEDULE_INVERSE,
    RN_SCHEDULE_CALLBACK
} rn_schedule_kind;
typedef struct rn_schedule {   /* zero = constant 0 */
    double   value, end, factor, shift;
    size_t   rounds;           /*                                     0 = 1 */
    rn_schedule_kind kind;
    double (*at)(void *self, size_t t);
    void    *self;
} rn_schedule;
RN_API rn_schedule rn_schedule_constant(double value);
RN_API rn_schedule rn_schedule_linear(double value, double end, size_t rounds);
RN_API rn_schedule rn_schedule_staircase(double value, double factor, size_t rounds);
RN_API double      rn_schedule_value(const rn_schedule *s, size_t t); /* t = 1, 2, .. */

/* ---- the server */
typedef AGG_ENUM(rn_update_kind) {
    RN_UPDATE_NORMALISED, RN_UPDATE_PLAIN, RN_UPDATE_ADAM, RN_UPDATE_ADAM_NORMALISED
} rn_update_kind;
typedef AGG_ENUM(rn_watch) {
    RN_WATCH_NONE, RN_WATCH_NEWS, RN_WATCH_ROWS
} rn_watch;
typedef struct rn_server rn_server;
typedef struct rn_server_desc {
    size_t         n;          /* rows                                required (not in a trainer) */
    size_t         dim;        /* parameters                          required (not in a trainer) */
    agg_desc       agg;        /* rule, f and options; n and dim are filled in; no rng = built in */
    agg_status   (*aggregate)(void *self, const rn_real *const *rows, size_t n, size_t dim,
                              rn_real *out); /* gets the rows as they came: some are NULL, some
                                  hold NaN, Inf or 1e38. out that is not finite: no update */
    void          *aggregate_self; /* your own rule instead           NULL = agg */
    rn_schedule    gamma, eta; /* required: above 0 in round 1; gamma never below 0, eta 0 .. 1. A
                                  callback is judged as it answers: RN_ERR_THETA, no update */
    rn_update_kind update;     /*                                     0 = normalised (the paper) */
    double         beta1, beta2, epsilon; /* Adam                     0 = 0.9, 0.999, 1e-8 */
    double         radius;     /* ||theta|| is kept at most this      0 = free */
    const rn_real *theta;      /* where to start, dim numbers         NULL = zeros; trainer: init */
    uint64_t       seed;       /* for bucketing                       0 is 0 */
    int            soft;       /* 1 = shorter steps where ||d|| is less than it was: see SERVER; not
                                  with RN_UPDATE_PLAIN, which has that by itself */
    double         kl;         /* budget of a step per decision, about 0.001: see SERVER; normalised
                                  updates only                        0 = gamma as scheduled */
    rn_watch       watch;      /* who lies? see WATCHING              0 = do not ask */
    double         slack;      /* watch: honest agents may be marked more often by this share, 0 ..
                                  1, than if they were all alike      0 is 0 */
} rn_server_desc;
typedef struct rn_progress {   /* of the round just done */
    size_t         round;      /* 1, 2, .. */
    uint64_t       trajectories; /* per agent so far (of the busiest) trainer only */
    uint64_t       env_steps;  /* all agents so far                   trainer only */
    double         mean_return, mean_length; /* honest agents, this round    trainer only */
    double         norm;       /* ||d|| of the aggregate */
    double         gamma, eta;
    size_t         dropped;    /* rows missing or not finite */
    size_t         n, dim;
    const double  *suspicion;  /* n numbers, see agg_report; NULL with your own rule */
    const double  *weight;     /* n numbers, share of each row in d; NULL with your own rule */
    const rn_real *theta;      /* dim numbers, after the update */
    agg_status     aggregate;
    rn_status      status;
    size_t         late;       /* rows that were marked late, the dropped not among them */
    double         cosine;     /* of d and the honest rows' mean; -2: not known      trainer only */
    const double  *evidence;   /* n numbers, see WATCHING; NULL without server.watch */
    int            still;      /* 1 = theta did not move: gamma is 0 (its schedule has ended), d is
                                  0, a step is below rounding, or, see status, none was made */
} rn_progress;
RN_API size_t         rn_server_size(const rn_server_desc *d); /* 0: rn_server_init() says why */
RN_API rn_status      rn_server_init(rn_server **server, const rn_server_desc *d, void *memory,
                                     size_t size);
RN_API const rn_real *rn_server_theta(const rn_server *s);         /* theta_t, dim numbers */
RN_API const rn_real *rn_server_direction(const rn_server *s);     /* the last d, dim numbers */
RN_API size_t         rn_server_current_round(const rn_server *s); /* t, from 1 */
RN_API double         rn_server_eta(const rn_server *s);           /* eta_t */
RN_API double         rn_server_gamma(const rn_server *s);         /* gamma_t, as known by now if
                                                                      soft or kl */
RN_API rn_plan        rn_server_plan(const rn_server *s);          /* theta_t, eta_t, t */
RN_API const double  *rn_server_evidence(const rn_server *s);      /* n numbers; NULL: no watch */

/* The evidence that one of `agents` honest ones reaches with a chance of at most alpha, in all time
   together: ln(agents/alpha). Ask with 1 about one agent, with n about all. Infinite if alpha is
   not in (0,1]. */
RN_API double         rn_evidence_limit(double alpha, size_t agents);

/* theta_{t+1} from N rows; progress may be NULL, which saves its weights and suspicion. On error
   theta and t stay, and progress says why (it is written but for RN_ERR_ARG): call again with more
   rows, or give the round up by rn_server_skip_round(): t+1 without an update. Rows have no number:
   every call that succeeds is an update, and the same rows given again make a second one. So take a
   row only if the number that came with it is rn_server_current_round(), and only once from each
   agent: a row in two places has two votes. */
RN_API rn_status      rn_server_update(rn_server *s, const rn_real *const *rows,
                                       rn_progress *progress);

/* The same with what the agents offer for server.kl: n numbers of rn_agent_curvature(), -1 for what
   did not come; NULL: none came. */
RN_API rn_status      rn_server_update_with(rn_server *s, const rn_real *const *rows,
                                            const double *curvature, rn_progress *progress);

/* The same with rows that are late, which convicts nobody: aggregators.h, THE GUARANTEE. Its n-late
   must be enough for the rule, else AGG_ERR_BOUND. A rule of your own gets rows as they are: give
   NULL for the late. */
typedef struct rn_arrivals {
    const rn_real *const *rows;      /* n of them, NULL for the silent     required */
    const double         *curvature; /* n numbers, -1 for what did not come       NULL = none */
    const unsigned char  *late;      /* n flags, 1 = late: its row and number are not looked at;
                                        NULL = none */
    const unsigned char  *stale;     /* n flags, 1 = a row of an earlier round: the rule takes it,
                                        WATCHING does not, as it is no news;      NULL = none */
} rn_arrivals;
RN_API rn_status      rn_server_update_from(rn_server *s, const rn_arrivals *arrivals,
                                            rn_progress *progress);
RN_API void           rn_server_skip_round(rn_server *s);
RN_API size_t         rn_server_save_size(const rn_server *s);
RN_API rn_status      rn_server_save(const rn_server *s, void *bytes, size_t size);
RN_API rn_status      rn_server_load(rn_server *s, const void *bytes, size_t size);

/* ---- the trainer */
typedef struct rn_trainer rn_trainer;
typedef struct rn_trainer_desc { /* zero it and fill in, or use rn_make_trainer_desc() */
    size_t           agents;   /* N                                   required */
    const rn_env    *envs;     /* N of them, or ...                   required */
    rn_env         (*make_env)(void *self, size_t index); /* ... yours; asked more than once */
    void            *make_env_self;
    rn_policy        policy;   /* shared by all                       required */
    rn_method        method;
    rn_server_desc   server;   /* agg, schedules, update */
    uint64_t         seed;     /*                                     0 is 0 */
    size_t           adversaries; /* the last of the agents           0 = all honest */
    rn_attack        attack;   /* what they do                        zero = sign flipping */
    const rn_attack *attacks;  /* N of them, one for each agent, instead     NULL = the two above */
    const agg_rng   *rngs;     /* N generators of yours               NULL = built in, from seed */
    agg_jobs         jobs;     /* job pool for the agents             none */
    void           (*progress)(void *self, const rn_progress *p); /*  NULL = none */
    void            *progress_self;
} rn_trainer_desc;

/* A recipe that learns, also among adversaries that know the rule and all rows: CWTM, discount
   0.995, flat, horizon 500, ridge baseline, causal B u on g's own eight trajectories (reuse, batch
   8), clip 0.25, eta 0.3, soft steps with gamma 0.16 falling linearly to 0.004 in 100 rounds, where
   it stays, so that a program without a last round learns on. What it survives, if gamma ends at 0,
   and what not: `make attacks`. Up to 2 of 10, or where nobody attacks, a batch of 2 and gamma
   0.08 in 200 rounds take half the trajectories. For another environment change gamma and rounds
   first, or take rn_make_tuned_trainer_desc(). With REINFORCE set flat to 0, with no_hessian
   reuse, with RN_UPDATE_PLAIN soft. The paper's own form, without bias, is a zeroed method with
   your horizon and discount, and server.soft 0; it wants smaller steps and more rounds: eta 0.2,
   gamma 0.02 to 0 in 500. */
RN_API rn_trainer_desc rn_make_trainer_desc(size_t agents, size_t f, const rn_env *envs,
                                            rn_policy policy);

/* One without a step length or an eta: method.tuned, server.kl 0.002, discount 0.99, two
   trajectories per agent and round, MDA behind NNM, the rest as above. The step falls to 1/40 of
   its length within `rounds`; 0 = 500. It learns the paper's six tasks with nothing else changed
   but that the step falls to 0 (`make onesetting`), if observations are about as large as 1
   (examples/envs/scaled.h). */
RN_API rn_trainer_desc rn_make_tuned_trainer_desc(size_t agents, size_t f, const rn_env *envs,
                                                  rn_policy policy, size_t rounds);
RN_API size_t         rn_trainer_size(const rn_trainer_desc *d); /* 0: rn_trainer_init() says why */
RN_API rn_status      rn_trainer_init(rn_trainer **trainer, const rn_trainer_desc *d, void *memory,
                                      size_t size);
#ifndef RN_NO_STDLIB /* malloc and free */
RN_API rn_status      rn_trainer_create(rn_trainer **trainer, const rn_trainer_desc *d);
RN_API void           rn_trainer_destroy(rn_trainer *t); /* of rn_trainer_create() only; or NULL */
#endif

/* run_round: to the end of the round under way, or a whole one. tick: work for a budget in
   environment steps, see TRAINER; used: of the budget, may be NULL. RN_OK: a round is complete;
   RN_MORE: call again; RN_ERR_AGGREGATE: the round is over without an update. */
RN_API rn_status          rn_trainer_run_round(rn_trainer *t);
RN_API rn_status          rn_trainer_tick(rn_trainer *t, size_t budget, size_t *used);
RN_API const rn_real     *rn_trainer_theta(const rn_trainer *t);       /* dim numbers */
RN_API size_t             rn_trainer_rounds_done(const rn_trainer *t); /* complete rounds */
RN_API const rn_progress *rn_trainer_progress(const rn_trainer *t);
                          /* of the last of them; before the first all is 0 and NULL, theta too */
RN_API rn_server         *rn_trainer_server(rn_trainer *t);
RN_API rn_agent          *rn_trainer_agent(rn_trainer *t, size_t i);   /* NULL if i >= agents */
RN_API rn_status          rn_trainer_agent_status(const rn_trainer *t, size_t i); /* last round */
RN_API rn_status          rn_trainer_set_attack(rn_trainer *t, size_t i, const rn_attack *attack);
                          /* between rounds; NULL: honest. RN_ERR_DESC: out of range, or it asks
                             for more memory than desc.attack and desc.attacks did */
RN_API size_t             rn_trainer_save_size(const rn_trainer *t); /* bytes of save() now */
RN_API rn_status          rn_trainer_save(const rn_trainer *t, void *bytes, size_t size);
RN_API rn_status          rn_trainer_load(rn_trainer *t, const void *bytes, size_t size);

/* ---- federation: agents and server apart, with bytes between them. See FEDERATION, above. */
#define RN_REASON_LIST(X)                                                                          \
    X(RN_ACCEPTED,         "accepted")                                                             \
    X(RN_REFUSED_LENGTH,   "the length is not that of such a message")                             \
    X(RN_REFUSED_MAGIC,    "not a message of this protocol")                                       \
    X(RN_REFUSED_VERSION,  "another version of the protocol")                                      \
    X(RN_REFUSED_DAMAGED,  "damaged on the way: the checksum differs")                             \
    X(RN_REFUSED_RUN,      "of another run")                                                       \
    X(RN_REFUSED_SENDER,   "in another's name")                                                    \
    X(RN_REFUSED_KIND,     "of a kind that does not go this way")                                  \
    X(RN_REFUSED_FORM,     "numbers in a form that is not taken")                                  \
    X(RN_REFUSED_DIM,      "the policy has another number of parameters")                          \
    X(RN_REFUSED_POLICY,   "the policy has other observations or actions")                         \
    X(RN_REFUSED_METHOD,   "the method has other options")                                         \
    X(RN_REFUSED_STRANGER, "who has not joined cannot send rows: join first")                      \
    X(RN_REFUSED_PAST,     "of a round that is over")                                              \
    X(RN_REFUSED_FUTURE,   "of a round that has not begun")                                        \
    X(RN_REFUSED_PLAN,     "an answer to another plan of that number")                             \
    X(RN_REFUSED_AGAIN,    "a second row for one round")                                           \
    X(RN_REFUSED_NUMBERS,  "theta or eta is not finite or out of range")
#define RN_X(id, text) id,
typedef AGG_ENUM(rn_reason) { RN_REASON_LIST(RN_X) RN_REASON_COUNT } rn_reason;
#undef RN_X
RN_API const char *rn_reason_text(rn_reason r); /* never NULL */

/* A message to be sent. bytes are valid until the next call with the hub or peer it is from. */
typedef struct rn_letter {
    size_t      to;            /* hub: which peer, 0 .. n-1           peer: 0, the server */
    const void *bytes;
    size_t      size;
} rn_letter;
RN_API size_t rn_message_size(size_t dim); /* of the longest there is for dim; 0: too large */

/* whom a message says it is from, 0 .. n-1, for links without keys; (size_t)-1: it does not say */
RN_API size_t rn_message_sender(const void *bytes, size_t size);

/* what became of the messages of one peer, and of its rows */
typedef struct rn_peer_report {
    int      joined;           /* now */
    uint64_t rows;             /* that came in time */
    uint64_t stale;            /* that came after their round and were kept: desc.stale */
    uint64_t late;             /* rounds that ended, while it was joined, without its row */
    uint64_t messages[RN_REASON_COUNT]; /* by what became of them: accepted, or refused and why */
    uint64_t last_seen;        /* when the last one was accepted, in the host's time */
    size_t   age;              /* of its row in the last update: 0 = fresh, k = of k rounds before,
                                  (size_t)-1 = there was none */
    double   weight, suspicion; /* in the last update whose progress was asked for */
    double   evidence;         /* after the last update: see WATCHING; 0 without server.watch */
} rn_peer_report;

/* ---- the server's side */
typedef struct rn_hub rn_hub;
typedef struct rn_hub_desc {
    rn_server_desc server;     /* n peers; dim may be left to policy  required */
    rn_policy      policy;     /* whom to take: dim, obs_dim, act_dim, actions; and init, as the
                                  trainer of server.seed does it, unless server.theta is given; no
                                  other function is called            dim 0 = any of server.dim */
    rn_method      method;     /* whom to take: only agents with these options; not asked without
                                  policy */
    unsigned char  run[16];    /* which run: messages of others are refused; draw it at random */
    uint64_t       patience;   /* after so long, from its start on, a round waits for a quorum only;
                                  in the host's time                  0 = always for all */
    size_t         quorum;     /* fresh rows without which there is no update    0 = the least that
                                  f allows: 2f+1, or what the rule needs; less is raised to that */
    size_t         stale;      /* A: where a peer's row is missing its last is taken, if it is not
                                  older than A rounds                 0 = fresh rows only */
    uint64_t       resend;     /* a plan goes to one peer again after that time at the earliest, so
                                  that who asks and asks is not sent theta each time
                                                                      0 = at once */
    size_t         fresh;      /* with stale: of the quorum so many must be fresh, the others may be
                                  old; at least f+1, so that one of them is honest   0 = all */
} rn_hub_desc;

/* the server's half of a trainer's recipe: the same theta, bit by bit, if no row is missing */
RN_API rn_hub_desc           rn_make_hub_desc(const rn_trainer_desc *recipe);
RN_API size_t                rn_hub_size(const rn_hub_desc *d); /* 0: rn_hub_init() says why */
RN_API rn_status             rn_hub_init(rn_hub **hub, const rn_hub_desc *d, void *memory,
                                         size_t size);

/* A message came over the link of peer `from`: who that is must be known from its key or address,
   not from the message. Refused: nothing is changed but the report, and the peer is told why. */
RN_API rn_reason             rn_hub_receive(rn_hub *h, size_t from, const void *bytes, size_t size);

/* 1: *letter is to be sent; call again. 0: nothing is. A letter that cannot be sent may be lost. */
RN_API int                   rn_hub_next(rn_hub *h, rn_letter *letter);

/* It is `now`, in any unit that does not run backwards. Ends the round if all rows are in, or if
   patience is over and a quorum is in. RN_OK: an update was made, and plans of the next round are
   to be sent; RN_MORE: it waits; else the round is over without an update, as in a trainer.
   progress may be NULL, which saves weights and suspicion; it is written unless RN_MORE. */
RN_API rn_status             rn_hub_tick(rn_hub *h, uint64_t now, rn_progress *progress);
RN_API rn_server            *rn_hub_server(rn_hub *h);
RN_API size_t                rn_hub_rows_in(const rn_hub *h); /* fresh ones of this round */
RN_API size_t                rn_hub_quorum(const rn_hub *h);
RN_API const rn_peer_report *rn_hub_report(const rn_hub *h, size_t peer); /* NULL if peer >= n */
RN_API size_t                rn_hub_save_size(const rn_hub *h);
RN_API rn_status             rn_hub_save(const rn_hub *h, void *bytes, size_t size);
RN_API rn_status             rn_hub_load(rn_hub *h, const void *bytes, size_t size);

/* ---- the agent's side */
typedef struct rn_peer rn_peer;
typedef struct rn_peer_desc {
    rn_agent_desc agent;       /*                                     required */
    unsigned char run[16];     /* as the hub's */
    size_t        index;       /* which of the n peers                0 = the first */
    uint64_t      retry;       /* nothing heard for that long: join again, which asks for the plan
                                  once more                           0 = never */
    int           half;        /* 1 = rows go in 16 bits a number: see FEDERATION  0 = rn_real */
    void        (*alter)(void *self, size_t round, rn_real *row); /* d before it is sent: noise for
                                  privacy, or an attack; d itself stays; once for each d, and again
                                  after rn_peer_load()                NULL = as it is */
    void         *alter_self;
} rn_peer_desc;

/* one agent of a trainer's recipe: method, policy, seed; its stream is the index */
RN_API rn_peer_desc rn_make_peer_desc(const rn_trainer_desc *recipe, size_t index, rn_env env);
RN_API size_t       rn_peer_size(const rn_peer_desc *d); /* 0: rn_peer_init() says why */
RN_API rn_status    rn_peer_init(rn_peer **peer, const rn_peer_desc *d, void *memory, size_t size);
RN_API rn_reason    rn_peer_receive(rn_peer *p, const void *bytes, size_t size);
RN_API int          rn_peer_next(rn_peer *p, rn_letter *letter); /* as rn_hub_next() */

/* It is `now`; and at most budget environment steps are made towards the row that the plan asks
   for. RN_OK: nothing is left to do; RN_MORE: call again; else why there is no row: the plan is
   given up (a retry asks for it again). used may be NULL. */
RN_API rn_status    rn_peer_tick(rn_peer *p, uint64_t now, size_t budget, size_t *used);
RN_API void         rn_peer_leave(rn_peer *p); /* says goodbye; nothing is answered any more */
RN_API rn_agent    *rn_peer_agent(rn_peer *p);
RN_API int          rn_peer_joined(const rn_peer *p);  /* a plan came since it joined last */
RN_API size_t       rn_peer_round(const rn_peer *p);   /* of the last plan; 0: none */
RN_API rn_reason    rn_peer_refusal(const rn_peer *p); /* what the server said since that plan */
RN_API size_t       rn_peer_save_size(const rn_peer *p);
RN_API rn_status    rn_peer_save(const rn_peer *p, void *bytes, size_t size);
RN_API rn_status    rn_peer_load(rn_peer *p, const void *bytes, size_t size);

/* ---- evaluation: undiscounted return of whole trajectories, cut at horizon; streams of its own */
typedef struct rn_evaluation_desc {
    size_t   trajectories;     /*                                     0 = 10 */
    size_t   horizon;          /*                                     0 = 1000 */
    int      sampled;          /* 1 = actions sampled, 0 = the most likely */
    uint64_t seed;             /*                                     0 is 0 */
    uint32_t stream;           /*                                     0 is 0 */
} rn_evaluation_desc;
typedef struct rn_evaluation {
    double mean, low, high;    /* return: mean, least, most */
    double length;             /* mean steps */
} rn_evaluation;
RN_API size_t    rn_evaluate_scratch_size(const rn_env *env, const rn_policy *p); /* bytes */
RN_API rn_status rn_evaluate(const rn_evaluation_desc *d, const rn_env *env, const rn_policy *p,
                             const rn_real *theta, void *scratch, size_t size, rn_evaluation *out);

/* The same in ticks of at most budget environment steps: RN_MORE until it is done, then RN_OK and
   *out, which has the bits that rn_evaluate() gives; used may be NULL. theta is copied: training
   may go on meanwhile. After RN_OK or an error: rn_evaluator_init() again. */
typedef struct rn_evaluator rn_evaluator;
RN_API size_t    rn_evaluator_size(const rn_env *env, const rn_policy *p); /* bytes; 0: no fit */
RN_API rn_status rn_evaluator_init(rn_evaluator **evaluator, const rn_evaluation_desc *d,
                                   const rn_env *env, const rn_policy *p, const rn_real *theta,
                                   void *memory, size_t size);
RN_API rn_status rn_evaluator_tick(rn_evaluator *e, size_t budget, size_t *used,
                                   rn_evaluation *out);

/* the most likely actions of theta_t; env must not be one that trains. Training does not notice. */
RN_API rn_status rn_trainer_evaluate(rn_trainer *t, const rn_env *env, size_t trajectories,
                                     double *mean_return);

/* ---- what is wrong with a desc, in words: the field, its value and its bound ("server.agg.f is
   5: CWTM survives at most 4 of 10, for n >= 2 f + 1"), or "ok" and, a line each, hints to what is
   allowed but seldom meant ("hint: method.discount is 0: ..."). The checks are those of _init(),
   and so is the status, but for memory and for a policy.init that gives what is not finite. text:
   size bytes, cut off where it is full, ended always; 1024 are enough. Nothing is kept; make_env
   and policy.work_size are asked. */
RN_API rn_status rn_net_explain(const rn_net_desc *d, char *text, size_t size);
RN_API rn_status rn_agent_explain(const rn_agent_desc *d, char *text, size_t size);
RN_API rn_status rn_server_explain(const rn_server_desc *d, char *text, size_t size);
RN_API rn_status rn_trainer_explain(const rn_trainer_desc *d, char *text, size_t size);
RN_API rn_status rn_hub_explain(const rn_hub_desc *d, char *text, size_t size);
RN_API rn_status rn_peer_explain(const rn_peer_desc *d, char *text, size_t size);

/* ---- theory: the theorem's schedules, the paper's constants and its finite-T bound */
typedef struct rn_assumptions {
    double G1, G2;             /* ||grad log pi|| <= G1, Lipschitz with G2   required, > 0 */
    double R;                  /* |reward| <= R                       required, > 0 */
    double discount;           /* [0,1) */
    double muF;                /* least eigenvalue of the Fisher matrix      required, > 0 */
    double lambda;             /* agg_lambda() */
    double eps_bias;
    double gap;                /* J* - J(theta_0) */
    double sigma2, sigmaH2;    /* variances of g and B                0 = G_g^2 and G_H^2 */
    size_t n, f;               /* agents and adversaries              required, f < n */
} rn_assumptions;
typedef struct rn_constants { double H, L, G_g, G_H, D_g, D_h, C1, C2, C3; } rn_constants;
RN_API rn_schedule  rn_theory_gamma(double G1, double muF);
RN_API rn_schedule  rn_theory_eta(void);
RN_API size_t       rn_theory_horizon(double T, double discount); /* >= 1; 0: bad discount */
RN_API rn_constants rn_theory_constants(const rn_assumptions *p, double T); /* -1: out of range */
RN_API double       rn_theory_bound(const rn_assumptions *p, double T); /* of J* - J(theta_T) */

/* trajectories per agent until the bound is at most sqrt(eps_bias)/(1-discount) + eps */
RN_API double       rn_theory_trajectories(const rn_assumptions *p, double eps);
#ifdef __cplusplus
}
#endif
#endif /* RESNHARPG_H */
/* clang-format on */

/* ---- stop here if you only want the API ------------------------------------------------------ */

#if defined(RESNHARPG_IMPLEMENTATION) && !defined(RESNHARPG_IMPLEMENTED)
#define RESNHARPG_IMPLEMENTED

/* How a round runs: Algorithm 1 of the paper. On the left the section.

   10 rn_trainer_run_round             rn_trainer_tick without a limit
    8   rn_agent_begin_round           every agent gets theta_t and eta_t; u = theta_t - theta_{t-1}
    8   rn_agent_tick                  every agent, each as a job: first tau, then tau^
    8     rni_agent_start_trajectory   q ~ U[0,1], theta^ = q theta_t + (1-q) theta_{t-1}
    8     rni_team_tick                policy.act, then env.step, at most H times, side by side
    8     rni_agent_weigh              rewards to Psi, less the baseline: section 7
    8     rni_agent_sum_g              g(tau, theta_t) by policy.grad, a net's block by block
    8     rni_agent_sum_v              v = B(tau^, theta^) u by rn_add_hessian_product, section 7
  5,6       rni_net_*, rni_table_*     policies; networks are matrix products: section 4
    8     rni_agent_end_round          d = (1-eta) (d + v) + eta g
   10   rni_trainer_end                piece by piece, if there is little time:
   10     rni_end_rows, _attack        what each agent sends: its d, or an attack
   10     rni_end_aggregate            d = F(d_1 .. d_N); whole: rni_server_aggregate
    9     rni_update_end               theta_{t+1} = theta_t + gamma_t d/||d||

   Sections: 1 helpers, 2 mathematics, 3 random numbers, 4 matrix products, 5 networks, 6 tables and
   any policy, 7 estimators, 8 agent, 9 schedules and server, 10 trainer, 11 saving, 11b federation,
   12 evaluation, 13 theory, 14 explaining. rni_ names are private; aggi_ names are the core's in
   aggregators.h. */

#if !defined(AGGREGATORS_IMPLEMENTATION) && !defined(RN_NO_AGGREGATORS)
#define AGGREGATORS_IMPLEMENTATION
#endif
#include "aggregators.h" /* its core; its code too, unless that is in another file */
#ifndef RN_NO_STDLIB
#include <stdlib.h> /* malloc, free */
#endif

AGGI_BEGIN_CODE

/* ---- 1 helpers ------------------------------------------------------------------------------- */

#ifdef AGG_DOUBLE
#define RNI_REAL_ROOT 1.3e154 /* its square fits */
#else
#define RNI_REAL_ROOT 1.8e19
#endif

/* Counters stay in the range that a saved state may have. */
#define RNI_MOST(type)  ((type)-1 / 4)
#define RNI_UP(x, type) ((x) += (x) < RNI_MOST(type))

RN_API const char *rn_status_text(rn_status s) {
#define RN_X(id, text)                                                                             \
    case id: return text;
    switch (s) { RN_STATUS_LIST(RN_X) case RN_STATUS_COUNT : break; }
#undef RN_X
    return "unknown status";
}

/* x . y, in 4 lanes of double */
static double rni_dot(const rn_real *x, const rn_real *y, size_t n) {
    double lane[4] = {0, 0, 0, 0};
    size_t i, l;
    for (i = 0; i + 4 <= n; i += 4)
        for (l = 0; l < 4; l++) lane[l] += (double)x[i + l] * (double)y[i + l];
    for (; i < n; i++) lane[0] += (double)x[i] * (double)y[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* ||x||; divided by max |x_i| first if the squares would not fit */
static double rni_norm(const rn_real *x, size_t n) {
    double s = rni_dot(x, x, n), scale = 0;
    size_t i;
    if (s > 1e-250 && s < 1e250) return aggi_sqrt(s);
    for (i = 0; i < n; i++) {
        const double a = x[i] < 0 ? -(double)x[i] : (double)x[i];
        if (!(a <= scale)) scale = a;
    }
    if (!(scale > 0) || !aggi_finite(scale)) return scale;
    for (i = 0, s = 0; i < n; i++) s += ((double)x[i] / scale) * ((double)x[i] / scale);
    return scale * aggi_sqrt(s);
}

/* Is x one of 0 .. n-1? n is at most 2^24, so that it and all below are floats. */
AGGI_INLINE int rni_is_index(rn_real x, size_t n) {
    return aggi_finite((double)x) && x >= 0 && x < (rn_real)n && (rn_real)(uint32_t)x == x;
}

/* rows x width numbers; a is bad if that is more than memory can hold */
static rn_real *rni_take_rows(aggi_arena *a, size_t rows, size_t width) {
    if (!aggi_product_fits(rows, width)) a->bad = 1;
    return aggi_take_real(a, a->bad ? 0 : rows * width);
}

/* The caller's memory. What rn_agent_size() and its like count is enough for any address, and it is
   asked for at any address. */
static aggi_arena rni_arena_make(void *memory, size_t size) {
    aggi_arena a = aggi_arena_make(memory, size);
    a.size = size > AGGI_ALIGN ? size - AGGI_ALIGN : 0;
    return a;
}

/* A check of a desc: does it fail, with which status, and what is to be said then (# stands for the
   next number, @ for the name)? Checks stand in tables, a row each, which the constructors and
   rn_..._explain() walk alike: what is refused has its words. */
typedef struct rni_check {
    int fails;
    rn_status status;
    const char *text;
    double number[3];
} rni_check;

/* of the check that failed; text NULL: none has words for it */
typedef struct rni_complaint {
    aggi_complaint words;
    size_t agent; /* whose it is, from 1; 0: not an agent's */
    int server;   /* 1: a field of the server's desc ... */
    int agg;      /* 1: ... that agg_explain() has words for */
} rni_complaint;

static rn_status rni_refuse(rni_complaint *c, const rni_check *check) {
    c->words.text = check->text;
    memcpy(c->words.number, check->number, sizeof check->number);
    return check->status;
}

/* the first that fails, or RN_OK */
static rn_status rni_first_failure(const rni_check *check, size_t n, rni_complaint *c) {
    for (; n; n--, check++)
        if (check->fails) return rni_refuse(c, check);
    return RN_OK;
}

#define RNI_FIRST_FAILURE(list, c) rni_first_failure(list, sizeof(list) / sizeof *(list), c)

/* Has everything that was taken an address? If not the arena only counts, or is too small. */
static int rni_arena_holds(const aggi_arena *a) { return a->base && !a->bad && a->used <= a->size; }

/* ---- 2 mathematics --------------------------------------------------------------------------- */

/* exp, tanh and cos without libm (log and sqrt are in the core). Why: libm's last bit varies from
   platform to platform, and scalar calls are slow. Here every function is one straight line of
   + - * / and integer operations, so a loop over it becomes vector code, and each lane does exactly
   what the scalar function does: same bits at any optimisation level, vector width, byte order.
   Assumed: IEEE 754, round to nearest, denormals not flushed, no contraction to fma.

     worst error seen, ulp   float  double   at the edges (NaN gives NaN everywhere)
       exp                   1.04   0.93     over 88.72 / 709.78: +Inf;
                                             under -87.3 / -708.4: denormals, 0
       tanh                  1.50   1.43     +-1 from 9.02 / 19.1 on; tiny x: x, with its sign at 0
       cos                          0.86     |x| > 2^20: taken as 0 (so cos 1); Inf: NaN

   Bits are read and written by memcpy as integers of the same size (no byte order). Adding
   RNI_ROUND, 1.5 * 2^(mantissa bits), rounds to an integer and leaves that integer in the low bits
   (no float-to-int conversion, which would be undefined for NaN and large numbers). Choices are
   made by integer masks, not comparisons: compilers make branches of those, which do not become
   vector code (but the lesser of two 32-bit integers is an instruction). Coefficients:
   interpolation at Chebyshev nodes (tanh for float: minimax), rounded to the type. Sums are by
   pairs where the result is waited for: acting, one step at a time, is two tanh and an exp. */
#define RNI_ROUND 6755399441055744.0 /* 1.5 * 2^52 */

/* min(|x|, limit); NaN stays. Positive numbers are ordered as their bits are. */
AGGI_INLINE double rni_abs_cap(double x, double limit) {
    const uint64_t a = aggi_bits(x) & ~AGGI_SIGN;
    return aggi_pick(aggi_above(a, aggi_bits(limit)) & ~aggi_above(a, AGGI_INF), limit,
                     aggi_from_bits(a));
}

/* x = k ln2 + r, |r| <= ln2/2; *k is RNI_ROUND + k. k * (first part of ln2) is exact. |x| <
   2^10. */
AGGI_INLINE double rni_mod_ln2(double x, double *k) {
    double n;
    *k = x * 1.4426950408889634 + RNI_ROUND;
    n = *k - RNI_ROUND;
    return (x - n * 0.69314718055989033) - n * 5.4979230187083712e-14;
}

/* e^r - 1 = r + r^2 q(r) for |r| <= ln2/2 */
AGGI_INLINE double rni_expm1_poly(double r) {
    double q = 2.5105206373957011e-08 + r * 2.0914679376583935e-09;
    q = 2.4801587325533363e-05 +
        r * (2.7557255425746435e-06 + r * (2.7557273661348637e-07 + r * q));
    q = 0.0083333333333261411 + r * (0.0013888888888883752 + r * (0.00019841269874800493 + r * q));
    q = 0.5 + r * (0.16666666666666671 + r * (0.041666666666666671 + r * q));
    return r + r * r * q;
}

/* e^x = 2^k e^r. 2^k in two factors, as k reaches beyond the exponents of normal numbers on both
   sides; only the last product rounds. x is capped where the result is Inf or 0 already. */
AGGI_INLINE double rni_exp(double x) {
    double k, p;
    uint64_t e, half;
    x = aggi_from_bits(aggi_bits(rni_abs_cap(x, 746.0)) | (aggi_bits(x) & AGGI_SIGN));
    p = 1.0 + rni_expm1_poly(rni_mod_ln2(x, &k));
    e = aggi_bits(k) - 0x4338000000000000u + 2048u; /* k + 2048 */
    half = e >> 1;                                  /* floor(k/2) + 1024 */
    return p * aggi_from_bits((half - 1u) << 52) * aggi_from_bits((e - half - 1u) << 52);
}

/* cos x. |x| = n pi/2 + r, |r| <= pi/4. pi/2 = 33 bits + 33 bits + the rest, so that for n < 2^20
   the products with the first two parts are exact. 0 * Inf makes the NaN for Inf. r + low is the
   remainder to about twice the precision; 1 - z/2 loses w, which is put back. */
AGGI_INLINE double rni_mod_pio2(double x, double *n) {
    const double a = aggi_from_bits(aggi_bits(x) & ~AGGI_SIGN);
    const double b = aggi_pick(aggi_above(aggi_bits(a), aggi_bits(1048576.0)), 0.0 * a, a);
    *n = b * 0.63661977236758138 + RNI_ROUND;
    return b - (*n - RNI_ROUND) * 1.5707963267341256;
}

/* cos r for even n, -sin r for odd n, and the sign changes every two */
AGGI_INLINE double rni_quadrant(uint64_t n, double sin_r, double cos_r) {
    const uint64_t odd = 0u - (n & 1u);
    const uint64_t bits = (aggi_bits(sin_r) & odd) | (aggi_bits(cos_r) & ~odd);
    return aggi_from_bits(bits ^ (((n + 1u) & 2u) << 62));
}

AGGI_INLINE double rni_cos(double x) {
    double n, s, c;
    const double t = rni_mod_pio2(x, &n), m = n - RNI_ROUND, p = m * 6.077100506303966e-11;
    const double u = t - p, back = t - u;              /* u = t - p rounded; its error exactly, */
    const double lost = (t - (u + back)) - (p - back); /* whichever is larger: t - p = u + lost */
    const double v = lost - m * 2.0222662487959506e-21, r = u + v, low = (u - r) + v;
    const double z = r * r, h = 0.5 * z, w = 1.0 - h;
    s = 2.7557316100683029e-06 + z * (-2.5051131455427946e-08 + z * 1.591810123027412e-10);
    s = -0.16666666666666666 + z * (0.0083333333333309462 + z * (-0.00019841269836754971 + z * s));
    c = -2.7557317270560326e-07 + z * (2.0876146024689747e-09 - z * 1.1382614868556325e-11);
    c = 0.041666666666666664 + z * (-0.0013888888888887395 + z * (2.4801587298763433e-05 + z * c));
    s = r + (r * z * s + low * w);
    c = w + (((1.0 - w) - h) + (z * z * c - r * low));
    return rni_quadrant(aggi_bits(n), s, c);
}

/* tanh x, a = |x|. Up to 0.86 (double: 0.55): a + a^3 T(a^2); above: 1 - 2 / (e^2a + 1), where the
   fraction is below 1/2 and its error counts less; both are computed and one is picked. */
#ifdef AGG_DOUBLE
#define RNI_LANES   8
#define RNI_EXP(x)  rni_exp(x) /* for rn_real */
#define RNI_TANH(x) rni_tanh(x)

/* e^2a = 2^k + 2^k p. k is in the low bits of `k`: shifted by 52 it is the exponent, and nothing
   else is left. */
AGGI_INLINE double rni_tanh(double x) {
    const uint64_t sign = aggi_bits(x) & AGGI_SIGN;
    const double a = rni_abs_cap(x, 20.0), z = a * a;
    double k, E, p = rni_expm1_poly(rni_mod_ln2(2.0 * a, &k)), T;
    T = -0.00023463474108872370 + z * (8.5113136855776721e-05 - z * 2.060276537636634e-05);
    T = 0.0035921103786890241 + z * (-0.0014556618301007161 + z * (0.00058893605200740573 + z * T));
    T = 0.021869488493666944 + z * (-0.0088632343978143555 + z * T);
    T = -0.33333333333333331 + z * (0.13333333333332714 + z * (-0.053968253967434016 + z * T));
    E = aggi_from_bits((aggi_bits(k) + 1023u) << 52);
    p = 1.0 - 2.0 / ((E + E * p) + 1.0);
    return aggi_from_bits(
        aggi_bits(aggi_pick(aggi_above(aggi_bits(a), aggi_bits(0.55)), p, a + a * z * T)) | sign);
}

#else
#define RNI_LANES   16
#define RNI_EXP(x)  rni_expf(x)
#define RNI_TANH(x) rni_tanhf(x)
#define RNI_ROUNDF  12582912.0f /* 1.5 * 2^23 */
#define RNI_INFF    0x7f800000u
#define RNI_NANF    0x7fc00000u
#define RNI_SIGNF   0x80000000u

/* The bits and masks of the core for float: top bit set; a > b without the top bit; m ? a : b. */
AGGI_INLINE uint32_t rni_bitsf(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

AGGI_INLINE float rni_from_bitsf(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

AGGI_INLINE uint32_t rni_topf(uint32_t a) { return 0u - (a >> 31); }

AGGI_INLINE uint32_t rni_abovef(uint32_t a, uint32_t b) { return rni_topf(b - a); }

AGGI_INLINE float rni_pickf(uint32_t m, float a, float b) {
    return rni_from_bitsf((rni_bitsf(a) & m) | (rni_bitsf(b) & ~m));
}

/* min(|x|, limit), but limit for NaN, which is sooner done: the bits of rni_nanf(x), all 0 unless x
   is NaN, make a NaN of any result they are put into. */
AGGI_INLINE float rni_abs_capf(float x, float limit) {
    const uint32_t a = rni_bitsf(x) & ~RNI_SIGNF, b = rni_bitsf(limit);
    return rni_from_bitsf(a < b ? a : b);
}

AGGI_INLINE uint32_t rni_nanf(float x) {
    return rni_abovef(rni_bitsf(x) & ~RNI_SIGNF, RNI_INFF) & RNI_NANF;
}

AGGI_INLINE float rni_mod_ln2f(float x, float *k) {
    float n;
    *k = x * 1.44269504f + RNI_ROUNDF;
    n = *k - RNI_ROUNDF;
    return (x - n * 0.693145752f) - n * 1.42860682e-06f;
}

AGGI_INLINE float rni_expm1_polyf(float r) {
    const float r2 = r * r;
    const float q = (0.5f + r * 0.166665778f) +
                    r2 * ((0.0416665561f + r * 0.00836317334f) + r2 * 0.00139261759f);
    return r + r2 * q;
}

AGGI_INLINE float rni_expf(float x) {
    const uint32_t nan = rni_nanf(x);
    float k, p;
    uint32_t e, half;
    x = rni_from_bitsf(rni_bitsf(rni_abs_capf(x, 104.0f)) | (rni_bitsf(x) & RNI_SIGNF));
    p = 1.0f + rni_expm1_polyf(rni_mod_ln2f(x, &k));
    e = rni_bitsf(k) - 0x4b400000u + 256u; /* k + 256 */
    half = e >> 1;                         /* floor(k/2) + 128 */
    p = p * rni_from_bitsf((half - 1u) << 23) * rni_from_bitsf((e - half - 1u) << 23);
    return rni_from_bitsf(rni_bitsf(p) | nan);
}

/* The fraction is 1 / D^2, D = sqrt((e^2a + 1) / 2) as a polynomial in t = a - 1, which is exact
   and small where the error counts most; the constant is added last. Half the latency of e^2a. */
AGGI_INLINE float rni_tanhf(float x) {
    const uint32_t edge = (rni_bitsf(x) & RNI_SIGNF) | rni_nanf(x);
    const float a = rni_abs_capf(x, 9.1f), z = a * a, z2 = z * z, z4 = z2 * z2;
    const float T =
        ((-0.333332568f + z * 0.133312896f) + z2 * (-0.0537831187f + z * 0.0210805647f)) +
        z4 * (-0.00708745699f + z * 0.00141224824f);
    const float t = a - 1.0f, t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    const float P = 1.80392075f * t + t2 * (1.0094732f + t * 0.313467354f);
    const float Q =
        (0.0765235648f + t * 0.0183974802f) + t2 * (0.00239448063f + t * 4.35399452e-05f);
    const float R = (0.000241882139f - t * 3.88921108e-05f) + t2 * 4.63126798e-06f;
    const float D = 2.0480547f + ((P + t8 * R) + t4 * Q);
    const float p = 1.0f - 1.0f / (D * D);
    return rni_from_bitsf(
        rni_bitsf(rni_pickf(rni_abovef(rni_bitsf(a), rni_bitsf(0.86f)), p, a + a * z * T)) | edge);
}
#endif

/* x_i = exp(x_i), in blocks of RNI_LANES, which become vector code; the rest is padded with
   zeros. */
AGGI_INLINE void rni_exp_all(rn_real *x, size_t n) {
    rn_real pad[RNI_LANES] = {0};
    size_t i;
    for (; n >= RNI_LANES; n -= RNI_LANES, x += RNI_LANES)
        for (i = 0; i < RNI_LANES; i++) x[i] = RNI_EXP(x[i]);
    if (!n) return;
    for (i = 0; i < n; i++) pad[i] = x[i];
    for (i = 0; i < RNI_LANES; i++) pad[i] = RNI_EXP(pad[i]);
    for (i = 0; i < n; i++) x[i] = pad[i];
}

/* ---- 3 random numbers ------------------------------------------------------------------------ */

/* xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64. */
static uint64_t rni_rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

RN_API uint64_t rn_random_next(rn_random *r) {
    uint64_t *s = r->s;
    const uint64_t result = rni_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rni_rotl(s[3], 45);
    return result;
}

/* A draw is linear over bits, x -> M x, so a jump ahead is a polynomial in M applied to the state:
   the sum of M^i x over the bits i that are set. */
static void rni_random_jump(rn_random *r, const uint64_t *poly) {
    rn_random to = {{0, 0, 0, 0}};
    int i, j;
    for (i = 0; i < 256; i++) {
        if ((poly[i / 64] >> (i % 64)) & 1u)
            for (j = 0; j < 4; j++) to.s[j] ^= r->s[j];
        (void)rn_random_next(r);
    }
    *r = to;
}

/* a = a b modulo the characteristic polynomial of M, x^256 + .., by Horner: to = x to + b_i a. So
   any number of jumps becomes one. */
static void rni_poly_times(uint64_t *a, const uint64_t *b) {
    static const uint64_t mod[4] = {0x9d116f2bb0f0f001u, 0x0280002bcefd1a5eu, 0x04b4edcf26259f85u,
                                    0x0003c03c3f3ecb19u};
    uint64_t to[4] = {0, 0, 0, 0};
    int i, j;
    for (i = 255; i >= 0; i--) {
        const uint64_t over = 0 - (to[3] >> 63), add = 0 - ((b[i / 64] >> (i % 64)) & 1u);
        for (j = 3; j >= 0; j--) {
            const uint64_t carry = j ? to[j - 1] >> 63 : 0;
            to[j] = ((to[j] << 1) | carry) ^ (mod[j] & over) ^ (a[j] & add);
        }
    }
    memcpy(a, to, sizeof to);
}

static void rni_random_jumps(rn_random *r, const uint64_t *poly, uint32_t times) {
    uint64_t power[4] = {1, 0, 0, 0}, square[4];
    memcpy(square, poly, sizeof square);
    for (; times; times >>= 1) {
        if (times & 1u) rni_poly_times(power, square);
        rni_poly_times(square, square);
    }
    rni_random_jump(r, power);
}

/* parts of a seed's sequence, 2^192 draws apart; streams of a part are 2^128 draws apart */
enum { RNI_FOR_AGENTS, RNI_FOR_EVALUATION, RNI_FOR_TRAINER };

static rn_random rni_random_make(uint64_t seed, int part, uint32_t stream) {
    static const uint64_t jump128[4] = {0x180ec6d33cfd0abau, 0xd5a61266f0c9392cu,
                                        0xa9582618e03fc9aau, 0x39abdc4529b1661cu};
    static const uint64_t jump192[4] = {0x76e15d3efefdcbbfu, 0xc5004e441c522fb3u,
                                        0x77710069854ee241u, 0x39109bb02acbe635u};
    rn_random r;
    int i;
    for (i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r.s[i] = z ^ (z >> 31);
    }
    while (part-- > 0) rni_random_jump(&r, jump192);
    rni_random_jumps(&r, jump128, stream);
    return r;
}

RN_API rn_random rn_make_random(uint64_t seed, uint32_t stream) {
    return rni_random_make(seed, RNI_FOR_AGENTS, stream);
}

static uint64_t rni_random_call(void *self) { return rn_random_next((rn_random *)self); }

RN_API agg_rng rn_random_rng(rn_random *r) {
    agg_rng rng;
    rng.next = rni_random_call;
    rng.self = r;
    return rng;
}

RN_API double rn_draw_uniform(const agg_rng *rng) { return aggi_draw53(rng) * AGGI_ULP53; }

/* The 2^64 mod n lowest draws are thrown away: with them small numbers would come more often. 64 in
   a row come from a broken generator only: then that is that. */
RN_API size_t rn_draw_below(const agg_rng *rng, size_t n) {
    const uint64_t m = n, unfair = (0 - m) % m;
    uint64_t x = rng->next(rng->self);
    int more;
    for (more = 63; more && x < unfair; more--) x = rng->next(rng->self);
    return (size_t)(x % m);
}

/* Box and Muller */
RN_API double rn_draw_normal(const agg_rng *rng) {
    const double r = 1.0 - rn_draw_uniform(rng), a = rn_draw_uniform(rng);
    return aggi_sqrt(-2.0 * aggi_log(r)) * rni_cos(6.283185307179586 * a);
}

/* ---- 4 matrix products ----------------------------------------------------------------------- */

/* C = Z + A B and C = Z + A^T B are all that forward passes, backward passes and sums over time are
   made of.
     A: M x K, or K x M if it is to be transposed; rows `length` numbers apart
     B: K x N and C: M x N, row by row; N is a multiple of RNI_W
     Z: one row, the same for all; NULL: what is in C, so C += A B
   Lanes run along the rows of B and C, so that no sum depends on their width; each number of A is
   one broadcast. rni_vec is no wider than RNI_W, or rows would have to be padded further. */
#define RNI_W (32 / sizeof(rn_real))

#if defined(__AVX__)
typedef rn_real rni_vec AGGI_VECTOR(32);
#else
typedef rn_real rni_vec AGGI_VECTOR(16);
#endif

/* Rows 1024 bytes apart, or a multiple, would share a few places of the first cache: one vector
   more. */
static size_t rni_pad(size_t n) {
    const size_t padded = (n + RNI_W - 1) / RNI_W * RNI_W;
    return padded * sizeof(rn_real) % 1024 == 0 ? padded + RNI_W : padded;
}

/* what is the same for all tiles */
typedef struct rni_tile {
    size_t K, N;
    size_t down, right; /* number (i, k) of A or A^T is at A[i * down + k * right] */
    size_t zn;          /* how far rows of Z are apart: N, or 0 */
} rni_tile;

/* How many of M rows go into tiles of 6: what is left must be tiles of 4, and at most 3 rows. */
static size_t rni_sixes(size_t M) {
    const size_t fours = M / 4 * 4, over = fours % 6;
    return fours - over - (over == 2 ? 6 : 0);
}

/* v into a register: compilers like to load a row of B once for each of its uses */
#if defined(__GNUC__) && defined(__AVX__)
#define RNI_KEEP(v) __asm__("" : "+x"(v))
#else
#define RNI_KEEP(v) ((void)0)
#endif

/* clang-format off */

/* For AGGI_TWINS. Tiles are 6, 4 or 1 rows by 2 vectors or 1. Single rows sum even and odd k apart,
   as two sums under way hide the latency of one; acting has tiles of 4 vectors too. rni_matmul_rows
   does so for all rows, in tiles of 2 by 2 and 4 by 1, with the bits of rni_matmul_row. */
#define RNI_MATMUL_KERNEL(suffix, attribute, vec)                                                  \
    AGGI_INLINE void rni_tile_6x2##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t w = sizeof(vec) / sizeof *A;                                                  \
        const size_t ai = m->down, ak = m->right, n = m->N, zn = m->zn;                            \
        vec c0, c1, c2, c3, c4, c5, d0, d1, d2, d3, d4, d5, b, e;                                  \
        size_t k;                                                                                  \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(d0, Z + w);                                           \
        AGGI_LOAD(c1, Z + zn);     AGGI_LOAD(d1, Z + zn + w);                                      \
        AGGI_LOAD(c2, Z + 2 * zn); AGGI_LOAD(d2, Z + 2 * zn + w);                                  \
        AGGI_LOAD(c3, Z + 3 * zn); AGGI_LOAD(d3, Z + 3 * zn + w);                                  \
        AGGI_LOAD(c4, Z + 4 * zn); AGGI_LOAD(d4, Z + 4 * zn + w);                                  \
        AGGI_LOAD(c5, Z + 5 * zn); AGGI_LOAD(d5, Z + 5 * zn + w);                                  \
        for (k = m->K; k > 0; k--, A += ak, B += n) {                                              \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            RNI_KEEP(b);           RNI_KEEP(e);                                                    \
            c0 += b * A[0];        d0 += e * A[0];                                                 \
            c1 += b * A[ai];       d1 += e * A[ai];                                                \
            c2 += b * A[2 * ai];   d2 += e * A[2 * ai];                                            \
            c3 += b * A[3 * ai];   d3 += e * A[3 * ai];                                            \
            c4 += b * A[4 * ai];   d4 += e * A[4 * ai];                                            \
            c5 += b * A[5 * ai];   d5 += e * A[5 * ai];                                            \
        }                                                                                          \
        AGGI_STORE(C, c0);         AGGI_STORE(C + w, d0);                                          \
        AGGI_STORE(C + n, c1);     AGGI_STORE(C + n + w, d1);                                      \
        AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 2 * n + w, d2);                                  \
        AGGI_STORE(C + 3 * n, c3); AGGI_STORE(C + 3 * n + w, d3);                                  \
        AGGI_STORE(C + 4 * n, c4); AGGI_STORE(C + 4 * n + w, d4);                                  \
        AGGI_STORE(C + 5 * n, c5); AGGI_STORE(C + 5 * n + w, d5);                                  \
    }                                                                                              \
    AGGI_INLINE void rni_tile_4x2##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t w = sizeof(vec) / sizeof *A;                                                  \
        const size_t ai = m->down, ak = m->right, n = m->N, zn = m->zn;                            \
        vec c0, c1, c2, c3, d0, d1, d2, d3, b, e;                                                  \
        size_t k;                                                                                  \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(d0, Z + w);                                           \
        AGGI_LOAD(c1, Z + zn);     AGGI_LOAD(d1, Z + zn + w);                                      \
        AGGI_LOAD(c2, Z + 2 * zn); AGGI_LOAD(d2, Z + 2 * zn + w);                                  \
        AGGI_LOAD(c3, Z + 3 * zn); AGGI_LOAD(d3, Z + 3 * zn + w);                                  \
        for (k = m->K; k > 0; k--, A += ak, B += n) {                                              \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            RNI_KEEP(b);           RNI_KEEP(e);                                                    \
            c0 += b * A[0];        d0 += e * A[0];                                                 \
            c1 += b * A[ai];       d1 += e * A[ai];                                                \
            c2 += b * A[2 * ai];   d2 += e * A[2 * ai];                                            \
            c3 += b * A[3 * ai];   d3 += e * A[3 * ai];                                            \
        }                                                                                          \
        AGGI_STORE(C, c0);         AGGI_STORE(C + w, d0);                                          \
        AGGI_STORE(C + n, c1);     AGGI_STORE(C + n + w, d1);                                      \
        AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 2 * n + w, d2);                                  \
        AGGI_STORE(C + 3 * n, c3); AGGI_STORE(C + 3 * n + w, d3);                                  \
    }                                                                                              \
    AGGI_INLINE void rni_tile_4x1##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t ai = m->down, ak = m->right, n = m->N, zn = m->zn;                            \
        vec c0, c1, c2, c3, b;                                                                     \
        size_t k;                                                                                  \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(c1, Z + zn);                                          \
        AGGI_LOAD(c2, Z + 2 * zn); AGGI_LOAD(c3, Z + 3 * zn);                                      \
        for (k = m->K; k > 0; k--, A += ak, B += n) {                                              \
            AGGI_LOAD(b, B);                                                                       \
            c0 += b * A[0];        c1 += b * A[ai];                                                \
            c2 += b * A[2 * ai];   c3 += b * A[3 * ai];                                            \
        }                                                                                          \
        AGGI_STORE(C, c0);         AGGI_STORE(C + n, c1);                                          \
        AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 3 * n, c3);                                      \
    }                                                                                              \
    AGGI_INLINE void rni_tile_1x2##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t w = sizeof(vec) / sizeof *A, ak = m->right, n = m->N;                         \
        vec c, d, c1, d1, b, e;                                                                    \
        size_t k;                                                                                  \
        memset(&c1, 0, sizeof c1); memset(&d1, 0, sizeof d1);                                      \
        AGGI_LOAD(c, Z);           AGGI_LOAD(d, Z + w);                                            \
        for (k = m->K; k > 1; k -= 2, A += 2 * ak, B += 2 * n) {                                   \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            c += b * A[0];         d += e * A[0];                                                  \
            AGGI_LOAD(b, B + n);   AGGI_LOAD(e, B + n + w);                                        \
            c1 += b * A[ak];       d1 += e * A[ak];                                                \
        }                                                                                          \
        if (k) {                                                                                   \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            c += b * A[0];         d += e * A[0];                                                  \
        }                                                                                          \
        c += c1;                   d += d1;                                                        \
        AGGI_STORE(C, c);          AGGI_STORE(C + w, d);                                           \
    }                                                                                              \
    AGGI_INLINE void rni_tile_1x4##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t w = sizeof(vec) / sizeof *A, ak = m->right, n = m->N;                         \
        vec c0, c1, c2, c3, d0, d1, d2, d3, b;                                                     \
        size_t k;                                                                                  \
        memset(&d0, 0, sizeof d0);                                                                 \
        d1 = d2 = d3 = d0;                                                                         \
        AGGI_LOAD(c0, Z);                  AGGI_LOAD(c1, Z + w);                                   \
        AGGI_LOAD(c2, Z + 2 * w);          AGGI_LOAD(c3, Z + 3 * w);                               \
        for (k = m->K; k > 1; k -= 2, A += 2 * ak, B += 2 * n) {                                   \
            AGGI_LOAD(b, B);               c0 += b * A[0];                                         \
            AGGI_LOAD(b, B + w);           c1 += b * A[0];                                         \
            AGGI_LOAD(b, B + 2 * w);       c2 += b * A[0];                                         \
            AGGI_LOAD(b, B + 3 * w);       c3 += b * A[0];                                         \
            AGGI_LOAD(b, B + n);           d0 += b * A[ak];                                        \
            AGGI_LOAD(b, B + n + w);       d1 += b * A[ak];                                        \
            AGGI_LOAD(b, B + n + 2 * w);   d2 += b * A[ak];                                        \
            AGGI_LOAD(b, B + n + 3 * w);   d3 += b * A[ak];                                        \
        }                                                                                          \
        if (k) {                                                                                   \
            AGGI_LOAD(b, B);               c0 += b * A[0];                                         \
            AGGI_LOAD(b, B + w);           c1 += b * A[0];                                         \
            AGGI_LOAD(b, B + 2 * w);       c2 += b * A[0];                                         \
            AGGI_LOAD(b, B + 3 * w);       c3 += b * A[0];                                         \
        }                                                                                          \
        c0 += d0;                          c1 += d1;                                               \
        c2 += d2;                          c3 += d3;                                               \
        AGGI_STORE(C, c0);                 AGGI_STORE(C + w, c1);                                  \
        AGGI_STORE(C + 2 * w, c2);         AGGI_STORE(C + 3 * w, c3);                              \
    }                                                                                              \
    AGGI_INLINE void rni_tile_1x1##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,   \
                                          const rn_real *Z, rn_real *C) {                          \
        const size_t ak = m->right, n = m->N;                                                      \
        vec c, c1, b;                                                                              \
        size_t k;                                                                                  \
        memset(&c1, 0, sizeof c1);                                                                 \
        AGGI_LOAD(c, Z);                                                                           \
        for (k = m->K; k > 1; k -= 2, A += 2 * ak, B += 2 * n) {                                   \
            AGGI_LOAD(b, B);       c += b * A[0];                                                  \
            AGGI_LOAD(b, B + n);   c1 += b * A[ak];                                                \
        }                                                                                          \
        if (k) {                                                                                   \
            AGGI_LOAD(b, B);       c += b * A[0];                                                  \
        }                                                                                          \
        c += c1;                                                                                   \
        AGGI_STORE(C, c);                                                                          \
    }                                                                                              \
    AGGI_INLINE void rni_tiles##suffix(const rni_tile *m, size_t M, const rn_real *A,              \
                                       const rn_real *B, const rn_real *Z, rn_real *C) {           \
        const size_t w = sizeof(vec) / sizeof *A, ai = m->down, n = m->N, zn = m->zn;              \
        const size_t sixes = rni_sixes(M);                                                         \
        size_t i, j;                                                                               \
        for (j = 0; j + 2 * w <= n; j += 2 * w) {                                                  \
            for (i = 0; i < sixes; i += 6)                                                         \
                rni_tile_6x2##suffix(m, A + i * ai, B + j, Z + i * zn + j, C + i * n + j);         \
            for (; i + 4 <= M; i += 4)                                                             \
                rni_tile_4x2##suffix(m, A + i * ai, B + j, Z + i * zn + j, C + i * n + j);         \
            for (; i < M; i++)                                                                     \
                rni_tile_1x2##suffix(m, A + i * ai, B + j, Z + i * zn + j, C + i * n + j);         \
        }                                                                                          \
        for (; j < n; j += w) {                                                                    \
            for (i = 0; i + 4 <= M; i += 4)                                                        \
                rni_tile_4x1##suffix(m, A + i * ai, B + j, Z + i * zn + j, C + i * n + j);         \
            for (; i < M; i++)                                                                     \
                rni_tile_1x1##suffix(m, A + i * ai, B + j, Z + i * zn + j, C + i * n + j);         \
        }                                                                                          \
    }                                                                                              \
    AGGI_INLINE void rni_split_2x2##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,  \
                                           const rn_real *Z, rn_real *C) {                         \
        const size_t w = sizeof(vec) / sizeof *A, ai = m->down, n = m->N;                          \
        vec c0, d0, c1, d1, p0, q0, p1, q1, b, e;                                                  \
        size_t k;                                                                                  \
        memset(&p0, 0, sizeof p0); memset(&q0, 0, sizeof q0);                                      \
        memset(&p1, 0, sizeof p1); memset(&q1, 0, sizeof q1);                                      \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(d0, Z + w);                                           \
        AGGI_LOAD(c1, Z);          AGGI_LOAD(d1, Z + w);                                           \
        for (k = m->K; k > 1; k -= 2, A += 2, B += 2 * n) {                                        \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            RNI_KEEP(b);           RNI_KEEP(e);                                                    \
            c0 += b * A[0];        d0 += e * A[0];                                                 \
            c1 += b * A[ai];       d1 += e * A[ai];                                                \
            AGGI_LOAD(b, B + n);   AGGI_LOAD(e, B + n + w);                                        \
            RNI_KEEP(b);           RNI_KEEP(e);                                                    \
            p0 += b * A[1];        q0 += e * A[1];                                                 \
            p1 += b * A[ai + 1];   q1 += e * A[ai + 1];                                            \
        }                                                                                          \
        if (k) {                                                                                   \
            AGGI_LOAD(b, B);       AGGI_LOAD(e, B + w);                                            \
            c0 += b * A[0];        d0 += e * A[0];                                                 \
            c1 += b * A[ai];       d1 += e * A[ai];                                                \
        }                                                                                          \
        c0 += p0;                  d0 += q0;                                                       \
        c1 += p1;                  d1 += q1;                                                       \
        AGGI_STORE(C, c0);         AGGI_STORE(C + w, d0);                                          \
        AGGI_STORE(C + n, c1);     AGGI_STORE(C + n + w, d1);                                      \
    }                                                                                              \
    AGGI_INLINE void rni_split_4x2##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,  \
                                           const rn_real *Z, rn_real *C) {                         \
        const size_t w = sizeof(vec) / sizeof *A, ai = m->down, n = m->N;                          \
        vec c0, c1, c2, c3, d0, d1, d2, d3, b, e;                                                  \
        size_t odd, k;                                                                             \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(d0, Z + w);                                           \
        c1 = c2 = c3 = c0;         d1 = d2 = d3 = d0;                                              \
        for (odd = 0; odd < 2; odd++) {                                                            \
            for (k = odd; k < m->K; k += 2) {                                                      \
                AGGI_LOAD(b, B + k * n);                                                           \
                AGGI_LOAD(e, B + k * n + w);                                                       \
                RNI_KEEP(b);               RNI_KEEP(e);                                            \
                c0 += b * A[k];            d0 += e * A[k];                                         \
                c1 += b * A[ai + k];       d1 += e * A[ai + k];                                    \
                c2 += b * A[2 * ai + k];   d2 += e * A[2 * ai + k];                                \
                c3 += b * A[3 * ai + k];   d3 += e * A[3 * ai + k];                                \
            }                                                                                      \
            if (odd) break;                                                                        \
            AGGI_STORE(C, c0);         AGGI_STORE(C + w, d0);                                      \
            AGGI_STORE(C + n, c1);     AGGI_STORE(C + n + w, d1);                                  \
            AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 2 * n + w, d2);                              \
            AGGI_STORE(C + 3 * n, c3); AGGI_STORE(C + 3 * n + w, d3);                              \
            memset(&c0, 0, sizeof c0);                                                             \
            c1 = c2 = c3 = d0 = d1 = d2 = d3 = c0;                                                 \
        }                                                                                          \
        AGGI_LOAD(b, C);           c0 = b + c0;                                                    \
        AGGI_LOAD(b, C + w);       d0 = b + d0;                                                    \
        AGGI_LOAD(b, C + n);       c1 = b + c1;                                                    \
        AGGI_LOAD(b, C + n + w);   d1 = b + d1;                                                    \
        AGGI_LOAD(b, C + 2 * n);   c2 = b + c2;                                                    \
        AGGI_LOAD(b, C + 2 * n + w);                                                               \
        d2 = b + d2;                                                                               \
        AGGI_LOAD(b, C + 3 * n);   c3 = b + c3;                                                    \
        AGGI_LOAD(b, C + 3 * n + w);                                                               \
        d3 = b + d3;                                                                               \
        AGGI_STORE(C, c0);         AGGI_STORE(C + w, d0);                                          \
        AGGI_STORE(C + n, c1);     AGGI_STORE(C + n + w, d1);                                      \
        AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 2 * n + w, d2);                                  \
        AGGI_STORE(C + 3 * n, c3); AGGI_STORE(C + 3 * n + w, d3);                                  \
    }                                                                                              \
    AGGI_INLINE void rni_split_4x1##suffix(const rni_tile *m, const rn_real *A, const rn_real *B,  \
                                           const rn_real *Z, rn_real *C) {                         \
        const size_t ai = m->down, n = m->N;                                                       \
        vec c0, c1, c2, c3, p0, p1, p2, p3, b;                                                     \
        size_t k;                                                                                  \
        memset(&p0, 0, sizeof p0); memset(&p1, 0, sizeof p1);                                      \
        memset(&p2, 0, sizeof p2); memset(&p3, 0, sizeof p3);                                      \
        AGGI_LOAD(c0, Z);          AGGI_LOAD(c1, Z);                                               \
        AGGI_LOAD(c2, Z);          AGGI_LOAD(c3, Z);                                               \
        for (k = m->K; k > 1; k -= 2, A += 2, B += 2 * n) {                                        \
            AGGI_LOAD(b, B);                                                                       \
            c0 += b * A[0];        c1 += b * A[ai];                                                \
            c2 += b * A[2 * ai];   c3 += b * A[3 * ai];                                            \
            AGGI_LOAD(b, B + n);                                                                   \
            p0 += b * A[1];        p1 += b * A[ai + 1];                                            \
            p2 += b * A[2 * ai + 1];                                                               \
            p3 += b * A[3 * ai + 1];                                                               \
        }                                                                                          \
        if (k) {                                                                                   \
            AGGI_LOAD(b, B);                                                                       \
            c0 += b * A[0];        c1 += b * A[ai];                                                \
            c2 += b * A[2 * ai];   c3 += b * A[3 * ai];                                            \
        }                                                                                          \
        c0 += p0;                  c1 += p1;                                                       \
        c2 += p2;                  c3 += p3;                                                       \
        AGGI_STORE(C, c0);         AGGI_STORE(C + n, c1);                                          \
        AGGI_STORE(C + 2 * n, c2); AGGI_STORE(C + 3 * n, c3);                                      \
    }                                                                                              \
    attribute static void rni_matmul_rows##suffix(size_t M, size_t N, size_t K, const rn_real *A,  \
                                                  size_t length, const rn_real *B,                 \
                                                  const rn_real *Z, rn_real *C) {                  \
        const size_t w = sizeof(vec) / sizeof *A;                                                  \
        size_t i, j;                                                                               \
        rni_tile m;                                                                                \
        m.K = K;                                                                                   \
        m.N = N;                                                                                   \
        m.down = length;                                                                           \
        m.right = 1;                                                                               \
        m.zn = 0;                                                                                  \
        for (j = 0; j + 2 * w <= N; j += 2 * w) {                                                  \
            for (i = 0; i + 4 <= M && K >= 24; i += 4)                                             \
                rni_split_4x2##suffix(&m, A + i * length, B + j, Z + j, C + i * N + j);            \
            for (; i + 2 <= M; i += 2)                                                             \
                rni_split_2x2##suffix(&m, A + i * length, B + j, Z + j, C + i * N + j);            \
            for (; i < M; i++)                                                                     \
                rni_tile_1x2##suffix(&m, A + i * length, B + j, Z + j, C + i * N + j);             \
        }                                                                                          \
        for (; j < N; j += w) {                                                                    \
            for (i = 0; i + 4 <= M; i += 4)                                                        \
                rni_split_4x1##suffix(&m, A + i * length, B + j, Z + j, C + i * N + j);            \
            for (; i < M; i++)                                                                     \
                rni_tile_1x1##suffix(&m, A + i * length, B + j, Z + j, C + i * N + j);             \
        }                                                                                          \
    }                                                                                              \
    attribute static void rni_matmul##suffix(size_t M, size_t N, size_t K, const rn_real *A,       \
                                             size_t length, const rn_real *B, const rn_real *Z,    \
                                             rn_real *C) {                                         \
        rni_tile m;                                                                                \
        m.K = K;                                                                                   \
        m.N = N;                                                                                   \
        m.down = length;                                                                           \
        m.right = 1;                                                                               \
        m.zn = Z ? 0 : N;                                                                          \
        rni_tiles##suffix(&m, M, A, B, Z ? Z : C, C);                                              \
    }                                                                                              \
    attribute static void rni_matmul_T##suffix(size_t M, size_t N, size_t K, const rn_real *A,     \
                                               size_t length, const rn_real *B, const rn_real *Z,  \
                                               rn_real *C) {                                       \
        rni_tile m;                                                                                \
        m.K = K;                                                                                   \
        m.N = N;                                                                                   \
        m.down = 1;                                                                                \
        m.right = length;                                                                          \
        m.zn = Z ? 0 : N;                                                                          \
        rni_tiles##suffix(&m, M, A, B, Z ? Z : C, C);                                              \
    }                                                                                              \
    AGGI_INLINE void rni_matmul_row##suffix(size_t N, size_t K, const rn_real *x,                  \
                                            const rn_real *B, const rn_real *Z, rn_real *y) {      \
        const size_t w = sizeof(vec) / sizeof *x;                                                  \
        size_t j;                                                                                  \
        rni_tile m;                                                                                \
        m.K = K;                                                                                   \
        m.N = N;                                                                                   \
        m.down = 0;                                                                                \
        m.right = 1;                                                                               \
        m.zn = 0;                                                                                  \
        for (j = 0; j + 4 * w <= N; j += 4 * w) rni_tile_1x4##suffix(&m, x, B + j, Z + j, y + j);  \
        for (; j + 2 * w <= N; j += 2 * w) rni_tile_1x2##suffix(&m, x, B + j, Z + j, y + j);       \
        for (; j < N; j += w) rni_tile_1x1##suffix(&m, x, B + j, Z + j, y + j);                    \
    }

/* clang-format on */

AGGI_TWINS(RNI_MATMUL_KERNEL, rni_vec, aggi_wide)

/* avx2 is a constant in the twins of section 5: 0 in those of the build, 1 in those for AVX2. */
#define RNI_MATMUL(avx2)      AGGI_TWIN(avx2, rni_matmul)
#define RNI_MATMUL_T(avx2)    AGGI_TWIN(avx2, rni_matmul_T)
#define RNI_MATMUL_ROWS(avx2) AGGI_TWIN(avx2, rni_matmul_rows)

/* y = z + x B, one row, inlined: for acting. Not by AGGI_TWIN, through which nothing is inlined. */
AGGI_INLINE void rni_matmul_row(int avx2, size_t N, size_t K, const rn_real *x, const rn_real *B,
                                const rn_real *z, rn_real *y) {
#ifdef AGGI_AVX2
    if (avx2) {
        rni_matmul_row_avx2(N, K, x, B, z, y);
        return;
    }
#endif
    (void)avx2;
    rni_matmul_row_base(N, K, x, B, z, y);
}

/* ---- 5 networks ------------------------------------------------------------------------------ */

/* Layer l: a = x W + b, h = phi(a); h of the last layer are the logits, or means and log-stds. All
   passes over a trajectory are matrix products with a row per step: H[l] is T rows of out[l],
   padded to RNI_W. They are done in blocks of RNI_BLOCK steps, so that a block stays in the cache
   through all layers. R x is the derivative of x along u, d/de x(theta + e u) at e = 0
   (Pearlmutter). */
#define RNI_BLOCK  ((size_t)64)
#define RNI_LAYERS (RN_MAX_HIDDEN + 1)

/* At the start of `work`. What acting needs comes first: its place does not depend on T. */
typedef struct rni_net_work {
    rn_real *W[RNI_LAYERS], *b[RNI_LAYERS]; /* theta, rows padded with zeros */
    rn_real *x[2];                          /* one step: a layer's input and output, by turns */
    int keeps;                              /* acts leave what they compute in H ... */
    size_t kept;                            /* ... so many did */
    rn_real *log_std, *std, *free_std;      /* free log-stds, clamped; exp of it; 1: not clamped */
    rn_real *WT[RNI_LAYERS];                /* W transposed, for the way back */
    rn_real *RW[RNI_LAYERS], *Rb[RNI_LAYERS], *RWT[RNI_LAYERS], *Rlog_std; /* the same of u */
    rn_real *G[RNI_LAYERS], *Gb[RNI_LAYERS], *Glog_std;                    /* sums of the result */
    rn_real *D, *RD; /* a block of w dlog pi/da of a layer, and its R */
    rn_real *E, *RE; /* the same of the layer below */
    rn_real *zero;   /* a row */
    rn_real *H[RNI_LAYERS], *RH[RNI_LAYERS];
    rn_real *P; /* T rows of outputs: softmax: probabilities; Gaussian: 1/std */
} rni_net_work;

/* One pass over a trajectory: what it reads, and the block of steps it is at, t0 .. t0+n-1. */
typedef struct rni_pass {
    const rn_net *net;
    rni_net_work *w;
    const rn_real *obs, *act; /* T rows of each */
    const rn_real *weight;    /* T numbers: w_t */
    const rn_real *k;         /* T numbers: k_t; NULL: 0 */
    size_t t0, n;
} rni_pass;

#define RNI_FOR_BLOCKS(p, from, to)                                                                \
    for ((p)->t0 = (from);                                                                         \
         (p)->n = (to) - (p)->t0 < RNI_BLOCK ? (to) - (p)->t0 : RNI_BLOCK, (p)->t0 < (to);         \
         (p)->t0 += RNI_BLOCK)

/* A part of what grad, dot or hvp do: steps from .. to-1 of T, from being a multiple of RNI_BLOCK.
   Parts in turn, the last of which ends at T, have the bits of the whole, as that is made of the
   same blocks; the sums wait in work. */
typedef struct rni_part {
    int kind; /* RNI_PART_GRAD, RNI_PART_DOT, RNI_PART_HVP */
    int kept; /* H is there already: the acts of this trajectory left it */
    size_t T, from, to;
    const rn_real *theta, *u;
    const rn_real *obs, *act, *weight, *k;
    rn_real *out; /* g, c or h */
    void *work;
} rni_part;

enum { RNI_PART_GRAD, RNI_PART_DOT, RNI_PART_HVP };

/* numbers in the longest padded row */
static size_t rni_net_widest(const rn_net *net) {
    size_t l, widest = rni_pad(net->in[0]);
    for (l = 0; l < net->layers; l++)
        if (rni_pad(net->out[l]) > widest) widest = rni_pad(net->out[l]);
    return widest;
}

static void rni_net_layout_act(const rn_net *net, aggi_arena *a, rni_net_work *w) {
    const size_t widest = rni_net_widest(net);
    size_t l;
    for (l = 0; l < net->layers; l++) {
        w->W[l] = rni_take_rows(a, net->in[l], rni_pad(net->out[l]));
        w->b[l] = aggi_take_real(a, rni_pad(net->out[l]));
    }
    w->x[0] = aggi_take_real(a, widest);
    w->x[1] = aggi_take_real(a, widest);
    w->log_std = aggi_take_real(a, net->desc.outputs);
    w->std = aggi_take_real(a, net->desc.outputs);
    w->free_std = aggi_take_real(a, net->desc.outputs);
}

static void rni_net_layout_pass(const rn_net *net, aggi_arena *a, size_t T, rni_net_work *w) {
    const size_t widest = rni_net_widest(net), block = T < RNI_BLOCK ? T : RNI_BLOCK;
    size_t l;
    w->Rlog_std = aggi_take_real(a, net->desc.outputs);
    w->Glog_std = aggi_take_real(a, net->desc.outputs);
    w->zero = aggi_take_real(a, widest);
    for (l = 0; l < net->layers; l++) {
        const size_t out = rni_pad(net->out[l]), in = rni_pad(net->in[l]);
        w->WT[l] = rni_take_rows(a, net->out[l], in);
        w->RWT[l] = rni_take_rows(a, net->out[l], in);
        w->RW[l] = rni_take_rows(a, net->in[l], out);
        w->Rb[l] = aggi_take_real(a, out);
        w->G[l] = rni_take_rows(a, net->in[l], out);
        w->Gb[l] = aggi_take_real(a, out);
    }
    w->D = rni_take_rows(a, block, widest);
    w->RD = rni_take_rows(a, block, widest);
    w->E = rni_take_rows(a, block, widest);
    w->RE = rni_take_rows(a, block, widest);
    for (l = 0; l < net->layers; l++) {
        w->H[l] = rni_take_rows(a, T, rni_pad(net->out[l]));
        w->RH[l] = rni_take_rows(a, T, rni_pad(net->out[l]));
    }
    w->P = rni_take_rows(a, T, net->desc.outputs);
}

static void rni_net_layout(const rn_net *net, aggi_arena *a, size_t T, rni_net_work *w) {
    rni_net_layout_act(net, a, w);
    if (T) rni_net_layout_pass(net, a, T, w);
}

static size_t rni_net_work_size(void *self, size_t T) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_net_work w;
    (void)aggi_take(&a, 1, sizeof w);
    rni_net_layout((const rn_net *)self, &a, T, &w);
    return a.bad ? 0 : a.used;
}

static rni_net_work *rni_net_open(const rn_net *net, void *work, size_t T) {
    aggi_arena a = aggi_arena_make(work, (size_t)-1 / 2);
    rni_net_work *w = (rni_net_work *)aggi_take(&a, 1, sizeof *w);
    rni_net_layout(net, &a, T, w);
    w->keeps = 0;
    w->kept = 0;
    return w;
}

/* theta (or u) to padded matrices; WT may be NULL, and is never read for the first layer, through
   which nothing goes back */
static void rni_net_pack(const rn_net *net, const rn_real *theta, rn_real *const *W,
                         rn_real *const *b, rn_real *const *WT) {
    size_t l, i, o;
    for (l = 0; l < net->layers; l++) {
        const size_t in = net->in[l], out = net->out[l], ld = rni_pad(out), ldt = rni_pad(in);
        const rn_real *from = theta + net->offset[l];
        for (i = 0; i < in; i++)
            for (o = 0; o < ld; o++) W[l][i * ld + o] = o < out ? from[i * out + o] : 0;
        for (o = 0; o < ld; o++) b[l][o] = o < out && !net->desc.no_bias ? from[in * out + o] : 0;
        if (!WT || l == 0) continue;
        for (o = 0; o < out; o++)
            for (i = 0; i < ldt; i++) WT[l][o * ldt + i] = i < in ? from[i * out + o] : 0;
    }
}

/* log-std within min .. max; *free_std: 1, or 0 if it was clamped, so that its gradient is 0 */
AGGI_INLINE rn_real rni_net_clamp(const rn_net *net, rn_real log_std, rn_real *free_std) {
    const rn_real low = (rn_real)net->desc.log_std_min, high = (rn_real)net->desc.log_std_max;
    *free_std = 1;
    if (low == 0 && high == 0) return log_std;
    if (log_std >= low && log_std <= high) return log_std;
    *free_std = 0;
    return log_std > high ? high : low;
}

/* Are the log-stds parameters of their own, the last of theta? */
static int rni_net_free_std(const rn_net *net) {
    return net->desc.gaussian && !net->desc.state_std;
}

static void rni_net_pack_std(const rn_net *net, const rn_real *theta, rni_net_work *w) {
    const size_t n = rni_net_free_std(net) ? net->desc.outputs : 0;
    size_t j;
    for (j = 0; j < n; j++) {
        w->log_std[j] = rni_net_clamp(net, theta[net->dim - n + j], &w->free_std[j]);
        w->std[j] = RNI_EXP(w->log_std[j]);
    }
}

static void rni_net_prepare(void *self, const rn_real *theta, void *work) {
    const rn_net *net = (const rn_net *)self;
    rni_net_work *w = rni_net_open(net, work, 0);
    rni_net_pack(net, theta, w->W, w->b, NULL);
    rni_net_pack_std(net, theta, w);
}

/* x_i = phi(x_i); n: a multiple of RNI_W */
AGGI_INLINE void rni_phi(rn_activation kind, rn_real *x, size_t n) {
    size_t l;
    if (kind == RN_TANH)
        for (; n; n -= RNI_W, x += RNI_W)
            for (l = 0; l < RNI_W; l++) x[l] = RNI_TANH(x[l]);
    else if (kind == RN_RELU)
        for (; n; n -= RNI_W, x += RNI_W)
            for (l = 0; l < RNI_W; l++) x[l] = x[l] > 0 ? x[l] : 0;
}

/* x_i *= phi'(a_i), with h_i = phi(a_i): phi' is 1 - h^2 for tanh, 1 or 0 for ReLU. This makes R h
   of R a on the way up, and dL/da of dL/dh on the way back. */
AGGI_INLINE void rni_phi_slope(rn_activation kind, const rn_real *AGGI_RESTRICT h,
                               rn_real *AGGI_RESTRICT x, size_t n) {
    size_t i;
    if (kind == RN_TANH)
        for (i = 0; i < n; i++) x[i] = x[i] * (1 - h[i] * h[i]);
    else if (kind == RN_RELU)
        for (i = 0; i < n; i++) x[i] = h[i] > 0 ? x[i] : 0;
}

/* e = dL/dh becomes e phi', and its R: (R e) phi' + e phi'' R a. For tanh phi'' R a = -2 h phi' R a
   = -2 h R h; for the others phi'' is 0. */
AGGI_INLINE void rni_phi_slope_R(rn_activation kind, const rn_real *AGGI_RESTRICT h,
                                 const rn_real *AGGI_RESTRICT Rh, rn_real *AGGI_RESTRICT e,
                                 rn_real *AGGI_RESTRICT Re, size_t n) {
    size_t i;
    if (kind != RN_TANH) {
        rni_phi_slope(kind, h, e, n);
        rni_phi_slope(kind, h, Re, n);
        return;
    }
    for (i = 0; i < n; i++) {
        const rn_real slope = 1 - h[i] * h[i];
        Re[i] = Re[i] * slope - 2 * e[i] * h[i] * Rh[i];
        e[i] = e[i] * slope;
    }
}

/* Acting: one step, lanes along the units. */

static rn_real rni_most_likely(const rn_real *logit, size_t n) {
    size_t j, best = 0;
    for (j = 1; j < n; j++)
        if (logit[j] > logit[best]) best = j;
    return (rn_real)best;
}

/* logit, and e for scratch: n numbers, padded. No branches on random values: they would be
   mispredicted. u is drawn first: it comes from a call through a pointer, across which registers
   would have to be saved. */
AGGI_INLINE rn_real rni_sample_softmax(const rn_real *AGGI_RESTRICT logit, size_t n,
                                       const agg_rng *rng, rn_real *AGGI_RESTRICT e) {
    const rn_real u = (rn_real)rn_draw_uniform(rng);
    rn_real most = logit[0], sum = 0, r;
    size_t j, l, k = 0;
    for (j = 1; j < n; j++) most = logit[j] > most ? logit[j] : most;
    for (j = 0; j < n; j += RNI_W)
        for (l = 0; l < RNI_W; l++) e[j + l] = RNI_EXP(logit[j + l] - most);
    for (j = 0; j < n; j++) e[j] = sum += e[j];
    r = u * sum;
    for (j = 0; j + 1 < n; j++) k += !(r < e[j]);
    return (rn_real)k;
}

/* act = mu + std N(0,1), clipped; without rng mu */
AGGI_INLINE void rni_sample_gauss(const rn_net *net, const rni_net_work *w, const rn_real *y,
                                  const agg_rng *rng, rn_real *act) {
    const size_t n = net->desc.outputs;
    const rn_real clip = (rn_real)net->desc.clip;
    size_t j;
    for (j = 0; j < n; j++) {
        rn_real a = y[j];
        if (rng) {
            rn_real none, std = w->std[j];
            if (net->desc.state_std) std = RNI_EXP(rni_net_clamp(net, y[n + j], &none));
            a = a + std * (rn_real)rn_draw_normal(rng);
        }
        act[j] = clip > 0 && a > clip ? clip : clip > 0 && a < -clip ? -clip : a;
    }
}

/* One act: what policy.act is given. Several are done layer by layer: each is a chain of sums that
   wait for one another, and side by side they hide it. Each has the bits it would have alone. */
enum { RNI_TEAM = 5 };

typedef struct rni_act {
    const rn_real *obs;
    const agg_rng *rng;
    rn_real *act;
    rni_net_work *w;
} rni_act;

/* the last layer's outputs y -> an action */
AGGI_INLINE void rni_net_decide(const rn_net *net, const rni_act *o, rn_real *y) {
    size_t j;
    if (net->desc.tanh_head)
        for (j = 0; j < net->desc.outputs; j++) y[j] = RNI_TANH(y[j]);
    if (net->desc.gaussian)
        rni_sample_gauss(net, o->w, y, o->rng, o->act);
    else if (o->rng)
        *o->act = rni_sample_softmax(y, net->desc.outputs, o->rng, o->w->x[net->layers % 2]);
    else
        *o->act = rni_most_likely(y, net->desc.outputs);
}

/* where act o puts the outputs of layer l */
AGGI_INLINE rn_real *rni_act_row(const rn_net *net, const rni_act *o, size_t l) {
    const rni_net_work *w = o->w;
    return w->keeps ? w->H[l] + w->kept * rni_pad(net->out[l]) : w->x[l % 2];
}

/* Layer l of n acts, y = phi(b + x W). out: its padded width, where it is one of the usual ones a
   constant. */
AGGI_INLINE void rni_act_layer(int avx2, const rn_net *net, size_t l, size_t n, const rni_act *o,
                               size_t out) {
    rn_real *y[RNI_TEAM];
    size_t i;
    for (i = 0; i < n; i++) {
        const rni_net_work *w = o[i].w;
        const rn_real *x = l ? rni_act_row(net, &o[i], l - 1) : o[i].obs;
        y[i] = rni_act_row(net, &o[i], l);
        rni_matmul_row(avx2, out, net->in[l], x, w->W[l], w->b[l], y[i]);
    }
    if (l + 1 == net->layers) return;
    for (i = 0; i < n; i++) rni_phi(net->desc.activation, y[i], out);
}

AGGI_INLINE void rni_net_act_body(int avx2, const rn_net *net, size_t n, const rni_act *o) {
    size_t l, i;
    for (l = 0; l < net->layers; l++) {
        const size_t out = rni_pad(net->out[l]);
        if (n > 1 && out == RNI_W)
            rni_act_layer(avx2, net, l, n, o, RNI_W);
        else if (n > 1 && out == 2 * RNI_W)
            rni_act_layer(avx2, net, l, n, o, 2 * RNI_W);
        else
            rni_act_layer(avx2, net, l, n, o, out);
    }
    for (i = 0; i < n; i++) {
        rn_real *y = rni_act_row(net, &o[i], net->layers - 1);
        o[i].w->kept++;
        rni_net_decide(net, &o[i], y);
    }
}

/* The way up: H, then R H, then the head. */

AGGI_INLINE void rni_net_forward(int avx2, const rni_pass *p) {
    const rn_net *net = p->net;
    const rn_real *x = p->obs + p->t0 * net->in[0];
    size_t l, t, j, ldx = net->in[0];
    for (l = 0; l < net->layers; l++) {
        const size_t out = rni_pad(net->out[l]);
        rn_real *h = p->w->H[l] + p->t0 * out;
        RNI_MATMUL_ROWS(avx2)(p->n, out, net->in[l], x, ldx, p->w->W[l], p->w->b[l], h);
        if (l + 1 < net->layers)
            rni_phi(net->desc.activation, h, p->n * out);
        else if (net->desc.tanh_head)
            for (t = 0; t < p->n; t++)
                for (j = 0; j < net->desc.outputs; j++) h[t * out + j] = RNI_TANH(h[t * out + j]);
        x = h;
        ldx = out;
    }
}

/* R a = x RW + Rb + (R x) W, then through phi; R of the observations is 0 */
AGGI_INLINE void rni_net_forward_R(int avx2, const rni_pass *p) {
    const rn_net *net = p->net;
    const rni_net_work *w = p->w;
    const rn_real *x = p->obs + p->t0 * net->in[0], *Rx = NULL;
    size_t l, t, j, ldx = net->in[0];
    for (l = 0; l < net->layers; l++) {
        const size_t in = net->in[l], out = rni_pad(net->out[l]);
        rn_real *h = w->H[l] + p->t0 * out, *Rh = w->RH[l] + p->t0 * out;
        RNI_MATMUL(avx2)(p->n, out, in, x, ldx, w->RW[l], w->Rb[l], Rh);
        if (Rx) RNI_MATMUL(avx2)(p->n, out, in, Rx, ldx, w->W[l], NULL, Rh);
        if (l + 1 < net->layers)
            rni_phi_slope(net->desc.activation, h, Rh, p->n * out);
        else if (net->desc.tanh_head)
            for (t = 0; t < p->n; t++)
                for (j = 0; j < net->desc.outputs; j++) {
                    const rn_real y = h[t * out + j];
                    Rh[t * out + j] = Rh[t * out + j] * (1 - y * y);
                }
        x = h;
        Rx = Rh;
        ldx = out;
    }
}

/* P before the exp: softmax: y_j - max y; Gaussian: -log_std_j */
AGGI_INLINE void rni_net_head_logs(const rni_pass *p) {
    const rn_net *net = p->net;
    const size_t k = net->desc.outputs, ld = rni_pad(net->out[net->layers - 1]);
    const rn_real *y = p->w->H[net->layers - 1] + p->t0 * ld;
    rn_real *P = p->w->P + p->t0 * k, none;
    size_t t, j;
    for (t = 0; t < p->n; t++, y += ld, P += k) {
        rn_real most = y[0];
        if (rni_net_free_std(net)) {
            for (j = 0; j < k; j++) P[j] = -p->w->log_std[j];
        } else if (net->desc.gaussian) {
            for (j = 0; j < k; j++) P[j] = -rni_net_clamp(net, y[k + j], &none);
        } else {
            for (j = 1; j < k; j++) most = y[j] > most ? y[j] : most;
            for (j = 0; j < k; j++) P[j] = y[j] - most;
        }
    }
}

/* P: softmax: probabilities; Gaussian: 1/std */
AGGI_INLINE void rni_net_head(const rni_pass *p) {
    const size_t k = p->net->desc.outputs;
    rn_real *P = p->w->P + p->t0 * k;
    size_t t, j;
    rni_net_head_logs(p);
    rni_exp_all(P, p->n * k);
    if (p->net->desc.gaussian) return;
    for (t = 0; t < p->n; t++, P += k) {
        rn_real sum = 0;
        for (j = 0; j < k; j++) sum += P[j];
        sum = 1 / sum;
        for (j = 0; j < k; j++) P[j] *= sum;
    }
}

/* One step of the trajectory where the network ends. */
typedef struct rni_output {
    const rn_real *act, *y, *Ry, *P; /* the action; rows of the outputs, of their R and of P */
    rn_real weight, k;               /* w_t, k_t */
    rn_real *D, *RD;                 /* where to put what goes back; RD NULL: no R is asked for */
} rni_output;

/* c_t = R log pi = R y_a - sum_j p_j R y_j */
AGGI_INLINE rn_real rni_dot_softmax(const rn_net *net, const rni_output *o) {
    rn_real sum = 0;
    size_t j;
    for (j = 0; j < net->desc.outputs; j++)
        sum += ((*o->act == (rn_real)j ? (rn_real)1 : (rn_real)0) - o->P[j]) * o->Ry[j];
    return sum;
}

/* c_t = sum_j z/std R mu + (z^2 - 1) R log_std, z = (a - mu)/std */
AGGI_INLINE rn_real rni_dot_gauss(const rn_net *net, const rni_net_work *w, const rni_output *o) {
    const size_t k = net->desc.outputs;
    rn_real sum = 0;
    size_t j;
    for (j = 0; j < k; j++) {
        const rn_real z = (o->act[j] - o->y[j]) * o->P[j];
        rn_real free_std = w->free_std[j];
        const rn_real Rs = net->desc.state_std ? o->Ry[k + j] : w->Rlog_std[j];
        if (net->desc.state_std) (void)rni_net_clamp(net, o->y[k + j], &free_std);
        sum += z * o->P[j] * o->Ry[j] + (z * z - 1) * (Rs * free_std);
    }
    return sum;
}

AGGI_INLINE void rni_net_head_dot(const rni_pass *p, rn_real *c) {
    const rn_net *net = p->net;
    const size_t k = net->desc.outputs, last = net->layers - 1, ld = rni_pad(net->out[last]);
    size_t t;
    for (t = p->t0; t < p->t0 + p->n; t++) {
        rni_output o;
        o.act = p->act + t * (net->desc.gaussian ? k : 1);
        o.y = p->w->H[last] + t * ld;
        o.Ry = p->w->RH[last] + t * ld;
        o.P = p->w->P + t * k;
        c[t] = net->desc.gaussian ? rni_dot_gauss(net, p->w, &o) : rni_dot_softmax(net, &o);
    }
}

/* The way back. It starts with D = w dlogpi/dy and, with R, RD = w R(dlogpi/dy) + k dlogpi/dy. The
   k term becomes k grad log pi further down, as all that follows is linear in RD: so B u takes one
   pass and one sum. */

/* dlogpi/dy_j = 1_{j=a} - p_j, its R: -p_j (R y_j - sum_i p_i R y_i) */
AGGI_INLINE void rni_seed_softmax(const rn_net *net, const rni_output *o) {
    const size_t k = net->desc.outputs;
    rn_real mean = 0;
    size_t j;
    if (o->RD)
        for (j = 0; j < k; j++) mean += o->P[j] * o->Ry[j];
    for (j = 0; j < k; j++) {
        const rn_real s = (*o->act == (rn_real)j ? (rn_real)1 : (rn_real)0) - o->P[j];
        o->D[j] = o->weight * s;
        if (o->RD) o->RD[j] = o->k * s - o->weight * (o->P[j] * (o->Ry[j] - mean));
    }
}

/* m = dlogpi/dmu = z/std, s = dlogpi/dlog_std = z^2 - 1; s goes to the outputs, or to the free
   log-std */
AGGI_INLINE void rni_seed_gauss(const rn_net *net, rni_net_work *w, const rni_output *o) {
    const size_t k = net->desc.outputs;
    size_t j;
    for (j = 0; j < k; j++) {
        const rn_real p = o->P[j], z = (o->act[j] - o->y[j]) * p, m = z * p;
        rn_real free_std = w->free_std[j], s, Rs = 0;
        if (net->desc.state_std) (void)rni_net_clamp(net, o->y[k + j], &free_std);
        s = (z * z - 1) * free_std;
        if (o->RD) {
            const rn_real Rlog = (net->desc.state_std ? o->Ry[k + j] : w->Rlog_std[j]) * free_std;
            const rn_real Rz = -(o->Ry[j] * p) - z * Rlog;
            o->RD[j] = o->weight * ((Rz - z * Rlog) * p) + o->k * m;
            Rs = o->weight * (2 * z * Rz * free_std) + o->k * s;
        }
        o->D[j] = o->weight * m;
        if (!net->desc.state_std) {
            w->Glog_std[j] += o->RD ? Rs : o->weight * s;
        } else {
            o->D[k + j] = o->weight * s;
            if (o->RD) o->RD[k + j] = Rs;
        }
    }
}

/* back through the tanh on logits or means, as rni_phi_slope_R() */
AGGI_INLINE void rni_seed_tanh(const rn_net *net, const rni_output *o) {
    size_t j;
    for (j = 0; j < net->desc.outputs; j++) {
        const rn_real y = o->y[j], slope = 1 - y * y;
        if (o->RD) o->RD[j] = o->RD[j] * slope - 2 * o->D[j] * y * o->Ry[j];
        o->D[j] = o->D[j] * slope;
    }
}

AGGI_INLINE void rni_net_seed(const rni_pass *p, int R) {
    const rn_net *net = p->net;
    const size_t k = net->desc.outputs, last = net->layers - 1, ld = rni_pad(net->out[last]);
    size_t t, j;
    for (t = 0; t < p->n; t++) {
        const size_t at = p->t0 + t;
        rni_output o;
        o.act = p->act + at * (net->desc.gaussian ? k : 1);
        o.y = p->w->H[last] + at * ld;
        o.Ry = R ? p->w->RH[last] + at * ld : NULL;
        o.P = p->w->P + at * k;
        o.weight = p->weight[at];
        o.k = p->k ? p->k[at] : 0;
        o.D = p->w->D + t * ld;
        o.RD = R ? p->w->RD + t * ld : NULL;
        for (j = net->out[last]; j < ld; j++) o.D[j] = 0;
        for (j = net->out[last]; j < ld && R; j++) o.RD[j] = 0;
        if (net->desc.gaussian)
            rni_seed_gauss(net, p->w, &o);
        else
            rni_seed_softmax(net, &o);
        if (net->desc.tanh_head) rni_seed_tanh(net, &o);
    }
}

/* G[l] += x^T D, or with R: x^T RD + (R x)^T D; Gb[l]: the same with ones for x. RD NULL: without
   R. */
AGGI_INLINE void rni_net_back_sums(int avx2, const rni_pass *p, size_t l, const rn_real *D,
                                   const rn_real *RD) {
    static const rn_real one = 1;
    const rni_net_work *w = p->w;
    const size_t in = p->net->in[l], out = rni_pad(p->net->out[l]), ldx = l ? rni_pad(in) : in;
    const rn_real *x = (l ? w->H[l - 1] : p->obs) + p->t0 * ldx, *S = RD ? RD : D;
    RNI_MATMUL_T(avx2)(in, out, p->n, x, ldx, S, NULL, w->G[l]);
    if (!p->net->desc.no_bias) RNI_MATMUL_T(avx2)(1, out, p->n, &one, 0, S, NULL, w->Gb[l]);
    if (!RD || !l) return;
    x = w->RH[l - 1] + p->t0 * ldx;
    RNI_MATMUL_T(avx2)(in, out, p->n, x, ldx, D, NULL, w->G[l]);
}

/* the layer below layer l: E = D W^T, and with R: RE = RD W^T + D RW^T, then both through phi */
AGGI_INLINE void rni_net_back_layer(int avx2, const rni_pass *p, size_t l, const rn_real *D,
                                    const rn_real *RD, rn_real *E, rn_real *RE) {
    const rn_net *net = p->net;
    const rni_net_work *w = p->w;
    const size_t n = p->n, k = net->out[l], out = rni_pad(k), in = rni_pad(net->in[l]);
    const rn_real *h = w->H[l - 1] + p->t0 * in;
    RNI_MATMUL(avx2)(n, in, k, D, out, w->WT[l], w->zero, E);
    if (!RD) {
        rni_phi_slope(net->desc.activation, h, E, n * in);
        return;
    }
    RNI_MATMUL(avx2)(n, in, k, RD, out, w->WT[l], w->zero, RE);
    RNI_MATMUL(avx2)(n, in, k, D, out, w->RWT[l], NULL, RE);
    rni_phi_slope_R(net->desc.activation, h, w->RH[l - 1] + p->t0 * in, E, RE, n * in);
}

AGGI_INLINE void rni_net_backward(int avx2, const rni_pass *p, int R) {
    rn_real *D = p->w->D, *RD = R ? p->w->RD : NULL, *E = p->w->E, *RE = p->w->RE, *swap;
    size_t l;
    for (l = p->net->layers; l-- > 0;) {
        rni_net_back_sums(avx2, p, l, D, RD);
        if (!l) break;
        rni_net_back_layer(avx2, p, l, D, RD, E, RE);
        swap = D;
        D = E;
        E = swap;
        if (!R) continue;
        swap = RD;
        RD = RE;
        RE = swap;
    }
}

static void rni_net_sum_clear(const rn_net *net, rni_net_work *w) {
    size_t l;
    for (l = 0; l < net->layers; l++) {
        memset(w->G[l], 0, net->in[l] * rni_pad(net->out[l]) * sizeof(rn_real));
        memset(w->Gb[l], 0, rni_pad(net->out[l]) * sizeof(rn_real));
    }
    memset(w->Glog_std, 0, net->desc.outputs * sizeof(rn_real));
}

/* g += the sums, which have the shape of rni_net_pack() */
static void rni_net_sum_add(const rn_net *net, const rni_net_work *w, rn_real *g) {
    size_t l, i, o;
    for (l = 0; l < net->layers; l++) {
        const size_t in = net->in[l], out = net->out[l], ld = rni_pad(out);
        rn_real *to = g + net->offset[l];
        for (i = 0; i < in; i++)
            for (o = 0; o < out; o++) to[i * out + o] += w->G[l][i * ld + o];
        for (o = 0; o < out && !net->desc.no_bias; o++) to[in * out + o] += w->Gb[l][o];
    }
    for (o = 0; o < net->desc.outputs && rni_net_free_std(net); o++)
        g[net->dim - net->desc.outputs + o] += w->Glog_std[o];
}

/* The policy's functions; grad = up, then back; dot = up with R; hvp = back with R, from what dot
   left in work. If the acts kept what they computed, up is done: rows of the same product, in the
   same order, so the bits do not tell. */

static void rni_net_fill(const rn_net *net, const rn_real *theta, rni_net_work *w) {
    rni_net_pack(net, theta, w->W, w->b, w->WT);
    rni_net_pack_std(net, theta, w);
    memset(w->zero, 0, rni_net_widest(net) * sizeof(rn_real));
}

static rni_net_work *rni_net_start(const rn_net *net, const rn_real *theta, size_t T, void *work) {
    rni_net_work *w = rni_net_open(net, work, T);
    rni_net_fill(net, theta, w);
    return w;
}

/* the same with H kept, which stays where it is */
static rni_net_work *rni_net_continue(const rn_net *net, const rn_real *theta, void *work) {
    rni_net_work *w = (rni_net_work *)work;
    rni_net_fill(net, theta, w);
    w->keeps = 0;
    return w;
}

static void rni_net_open_part(rni_pass *p, const rni_part *q) {
    if (q->from)
        p->w = (rni_net_work *)q->work;
    else
        p->w = q->kept ? rni_net_continue(p->net, q->theta, q->work)
                       : rni_net_start(p->net, q->theta, q->T, q->work);
}

AGGI_INLINE void rni_net_grad_body(int avx2, rni_pass *p, const rni_part *q) {
    rni_net_open_part(p, q);
    if (!q->from) rni_net_sum_clear(p->net, p->w);
    RNI_FOR_BLOCKS(p, q->from, q->to) {
        if (!q->kept) rni_net_forward(avx2, p);
        rni_net_head(p);
        rni_net_seed(p, 0);
        rni_net_backward(avx2, p, 0);
    }
    if (q->to == q->T) rni_net_sum_add(p->net, p->w, q->out);
}

static void rni_net_pack_u(const rn_net *net, const rn_real *u, rni_net_work *w) {
    size_t j;
    rni_net_pack(net, u, w->RW, w->Rb, w->RWT);
    for (j = 0; j < net->desc.outputs && rni_net_free_std(net); j++)
        w->Rlog_std[j] = u[net->dim - net->desc.outputs + j];
}

AGGI_INLINE void rni_net_dot_body(int avx2, rni_pass *p, const rni_part *q) {
    rni_net_open_part(p, q);
    if (!q->from) rni_net_pack_u(p->net, q->u, p->w);
    RNI_FOR_BLOCKS(p, q->from, q->to) {
        if (!q->kept) rni_net_forward(avx2, p);
        rni_net_forward_R(avx2, p);
        rni_net_head(p);
        rni_net_head_dot(p, q->out);
    }
}

AGGI_INLINE void rni_net_hvp_body(int avx2, rni_pass *p, const rni_part *q) {
    p->w = (rni_net_work *)q->work;
    if (!q->from) rni_net_sum_clear(p->net, p->w);
    RNI_FOR_BLOCKS(p, q->from, q->to) {
        rni_net_seed(p, 1);
        rni_net_backward(avx2, p, 1);
    }
    if (q->to == q->T) rni_net_sum_add(p->net, p->w, q->out);
}

AGGI_INLINE void rni_net_part_body(int avx2, const void *self, const rni_part *q) {
    rni_pass p;
    p.net = (const rn_net *)self;
    p.w = NULL;
    p.obs = q->obs;
    p.act = q->act;
    p.weight = q->weight;
    p.k = q->k;
    p.t0 = p.n = 0;
    if (q->kind == RNI_PART_GRAD)
        rni_net_grad_body(avx2, &p, q);
    else if (q->kind == RNI_PART_DOT)
        rni_net_dot_body(avx2, &p, q);
    else
        rni_net_hvp_body(avx2, &p, q);
}

/* all T steps */
AGGI_INLINE rni_part rni_part_make(int kind, const rn_real *theta, size_t T, const rn_real *obs,
                                   const rn_real *act, void *work) {
    rni_part q;
    q.kind = kind;
    q.kept = 0;
    q.T = q.to = T;
    q.from = 0;
    q.theta = theta;
    q.obs = obs;
    q.act = act;
    q.work = work;
    q.u = q.weight = q.k = NULL;
    q.out = NULL;
    return q;
}

/* clang-format off */

/* For AGGI_TWINS: the four functions of rn_policy, three of them made of parts. Acting finds theta
   where prepare put it. */
enum { rni_is_base, rni_is_avx2 };
#define RNI_NET_KERNEL(suffix, attribute, vec)                                                     \
    attribute static void rni_net_act##suffix(void *self, const rn_real *theta,                    \
                                              const rn_real *obs, const agg_rng *rng,              \
                                              rn_real *act, void *work) {                          \
        rni_act one;                                                                               \
        (void)theta;                                                                               \
        one.obs = obs;                                                                             \
        one.rng = rng;                                                                             \
        one.act = act;                                                                             \
        one.w = (rni_net_work *)work;                                                              \
        rni_net_act_body(rni_is##suffix, (const rn_net *)self, 1, &one);                           \
    }                                                                                              \
    attribute static void rni_net_act_team##suffix(const rn_net *net, size_t n,                    \
                                                   const rni_act *o) {                             \
        rni_net_act_body(rni_is##suffix, net, n, o);                                               \
    }                                                                                              \
    attribute static void rni_net_do_part##suffix(const void *self, const rni_part *q) {           \
        rni_net_part_body(rni_is##suffix, self, q);                                                \
    }                                                                                              \
    attribute static void rni_net_grad##suffix(void *self, const rn_real *theta, size_t T,         \
                                               const rn_real *obs, const rn_real *act,             \
                                               const rn_real *w, rn_real *g, void *work) {         \
        rni_part q = rni_part_make(RNI_PART_GRAD, theta, T, obs, act, work);                       \
        q.weight = w;                                                                              \
        q.out = g;                                                                                 \
        rni_net_do_part##suffix(self, &q);                                                         \
    }                                                                                              \
    attribute static void rni_net_dot##suffix(void *self, const rn_real *theta, const rn_real *u,  \
                                              size_t T, const rn_real *obs, const rn_real *act,    \
                                              rn_real *c, void *work) {                            \
        rni_part q = rni_part_make(RNI_PART_DOT, theta, T, obs, act, work);                        \
        q.u = u;                                                                                   \
        q.out = c;                                                                                 \
        rni_net_do_part##suffix(self, &q);                                                         \
    }                                                                                              \
    attribute static void rni_net_hvp##suffix(void *self, const rn_real *theta, const rn_real *u,  \
                                              size_t T, const rn_real *obs, const rn_real *act,    \
                                              const rn_real *w, const rn_real *k, rn_real *h,      \
                                              void *work) {                                        \
        rni_part q = rni_part_make(RNI_PART_HVP, theta, T, obs, act, work);                        \
        (void)u;                                                                                   \
        q.weight = w;                                                                              \
        q.k = k;                                                                                   \
        q.out = h;                                                                                 \
        rni_net_do_part##suffix(self, &q);                                                         \
    }

/* clang-format on */

AGGI_TWINS(RNI_NET_KERNEL, rni_vec, aggi_wide)

/* what rni_sample_gauss() leaves of an action */
static int rni_net_accepts_act(void *self, const rn_real *act) {
    const rn_net_desc *d = &((const rn_net *)self)->desc;
    const rn_real clip = (rn_real)d->clip;
    size_t j;
    for (j = 0; j < d->outputs; j++)
        if (clip > 0 && !(act[j] >= -clip && act[j] <= clip)) return 0;
    return 1;
}

/* W uniform in +-sqrt(3/in), biases 0, log-stds as desc.log_std says */
static void rni_net_init(void *self, const agg_rng *rng, rn_real *theta) {
    const rn_net *net = (const rn_net *)self;
    const rn_net_desc *d = &net->desc;
    size_t l, i;
    memset(theta, 0, net->dim * sizeof *theta);
    for (l = 0; l < net->layers; l++) {
        double scale = aggi_sqrt(3.0 / (double)net->in[l]);
        if (l + 1 == net->layers) scale *= d->out_scale > 0 ? d->out_scale : 0.1;
        for (i = 0; i < net->in[l] * net->out[l]; i++)
            theta[net->offset[l] + i] = (rn_real)(scale * (2 * rn_draw_uniform(rng) - 1));
    }
    if (rni_net_free_std(net) || (d->gaussian && !d->no_bias)) /* the last of theta, either way */
        for (i = 0; i < d->outputs; i++) theta[net->dim - d->outputs + i] = (rn_real)d->log_std;
}

RN_API rn_net_desc rn_make_net_desc(size_t obs_dim, size_t outputs) {
    rn_net_desc d;
    memset(&d, 0, sizeof d);
    d.obs_dim = obs_dim;
    d.outputs = outputs;
    return d;
}

#define RNI_MOST_UNITS ((size_t)1 << 24) /* an index that a float holds exactly */

/* clang-format off */
static rn_status rni_net_check(const rn_net_desc *d, rni_complaint *c) {
    const double units = (double)RNI_MOST_UNITS;
    const rni_check list[] = {
        {!d->obs_dim || d->obs_dim > RNI_MOST_UNITS, RN_ERR_DESC,
         "obs_dim is #: it is 1 .. #", {(double)d->obs_dim, units}},
        {!d->outputs || d->outputs > RNI_MOST_UNITS / 2, RN_ERR_DESC,
         "outputs is #: it is 1 .. #", {(double)d->outputs, units / 2}},
        {(unsigned)d->activation > RN_IDENTITY, RN_ERR_DESC,
         "activation is #: there are 0 .. #", {(double)d->activation, RN_IDENTITY}},
        {!aggi_finite(d->log_std), RN_ERR_DESC, "log_std is #: it is finite", {d->log_std}},
        {!aggi_is_number(d->log_std_min) || !aggi_is_number(d->log_std_max) ||
         d->log_std_min > d->log_std_max, RN_ERR_DESC,
         "log_std_min is #, log_std_max is #: min is at most max",
         {d->log_std_min, d->log_std_max}},
        {!aggi_is_number(d->clip) || d->clip < 0, RN_ERR_DESC,
         "clip is #: it is 0 or more", {d->clip}},
        {!aggi_within(d->out_scale, 0, DBL_MAX), RN_ERR_DESC,
         "out_scale is #: it is 0 or more, and finite", {d->out_scale}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* clang-format on */

/* layers, dim; or what is out of range */
static rn_status rni_net_shape(rn_net *net, rni_complaint *c) {
    const rn_net_desc *d = &net->desc;
    const rn_status s = rni_net_check(d, c);
    size_t in = d->obs_dim, out, l;
    if (s != RN_OK) return s;
    for (l = 0; l < RNI_LAYERS; l++, in = out) {
        const int last = l == RN_MAX_HIDDEN || !d->hidden[l];
        out = last ? d->outputs * (d->gaussian && d->state_std ? 2 : 1) : d->hidden[l];
        if (out > RNI_MOST_UNITS || !aggi_product_fits(in, out)) {
            const rni_check large = {1,
                                     RN_ERR_DESC,
                                     "layer # has # inputs and # units: too many",
                                     {(double)l, (double)in, (double)out}};
            return rni_refuse(c, &large);
        }
        net->in[l] = in;
        net->out[l] = out;
        net->offset[l] = net->dim;
        net->dim += in * out + (d->no_bias ? 0 : out);
        net->layers = l + 1;
        if (last) break;
    }
    if (rni_net_free_std(net)) net->dim += d->outputs;
    return RN_OK;
}

RN_API rn_policy rn_make_net_policy(rn_net *net, const rn_net_desc *d) {
    const int avx2 = AGGI_HAS_AVX2;
    rni_complaint unsaid;
    rn_policy p;
    memset(&p, 0, sizeof p);
    memset(net, 0, sizeof *net);
    net->desc = *d;
    if (rni_net_shape(net, &unsaid) != RN_OK) return p;
    p.self = net;
    p.dim = net->dim;
    p.obs_dim = d->obs_dim;
    p.act_dim = d->gaussian ? d->outputs : 1;
    p.actions = d->gaussian ? 0 : d->outputs;
    p.act = AGGI_TWIN(avx2, rni_net_act);
    p.grad = AGGI_TWIN(avx2, rni_net_grad);
    p.dot = AGGI_TWIN(avx2, rni_net_dot);
    p.hvp = AGGI_TWIN(avx2, rni_net_hvp);
    p.work_size = rni_net_work_size;
    p.prepare = rni_net_prepare;
    p.init = rni_net_init;
    if (d->gaussian) p.accepts_act = rni_net_accepts_act;
    return p;
}

/* Is it a net with our own functions? A host may have put others around them. */
static int rni_is_net(const rn_policy *p) {
    const int avx2 = AGGI_HAS_AVX2;
    return p->act == AGGI_TWIN(avx2, rni_net_act) && p->grad == AGGI_TWIN(avx2, rni_net_grad) &&
           p->dot == AGGI_TWIN(avx2, rni_net_dot) && p->hvp == AGGI_TWIN(avx2, rni_net_hvp) &&
           p->prepare == rni_net_prepare && p->work_size == rni_net_work_size;
}

/* How many agents should act side by side: those whose matrices fit the first cache together. */
static size_t rni_policy_team(const rn_policy *p) {
    const size_t room = 24576 / RNI_TEAM;
    return rni_is_net(p) && rni_net_work_size(p->self, 0) <= room ? RNI_TEAM : 1;
}

/* Before the acts of a trajectory of at most `most` steps, right after prepare: they keep H. */
static void rni_policy_keep(const rn_policy *p, size_t most, void *work) {
    if (rni_is_net(p)) rni_net_open((const rn_net *)p->self, work, most)->keeps = 1;
}

/* After them: did T acts, all of this trajectory, leave H, so that grad and dot need no way up? */
static int rni_policy_kept(const rn_policy *p, size_t T, const void *work) {
    return rni_is_net(p) && ((const rni_net_work *)work)->keeps &&
           ((const rni_net_work *)work)->kept == T;
}

/* ---- 6 tables and any policy ----------------------------------------------------------------- */

/* theta[s][a] is the logit of action a in state s. In row s grad log pi = 1_a - p and
   hess log pi u = -p (u_s - p . u_s), in all others 0. A state that is none of the table's makes a
   NaN: agents ask before, but who calls the policy's functions may not. */
static int rni_table_accepts_obs(void *self, const rn_real *obs) {
    return rni_is_index(obs[0], ((const rn_table *)self)->states);
}

static const rn_real *rni_table_row(const rn_table *t, const rn_real *theta, rn_real state) {
    return rni_is_index(state, t->states) ? theta + (size_t)state * t->actions : NULL;
}

static rn_real rni_nan(void) {
    rn_real zero = 0;
    return zero / zero;
}

static void rni_table_probs(const rn_table *t, const rn_real *logit, rn_real *p) {
    rn_real most = logit[0], sum = 0;
    size_t j;
    for (j = 1; j < t->actions; j++) most = logit[j] > most ? logit[j] : most;
    for (j = 0; j < t->actions; j++) sum += p[j] = RNI_EXP(logit[j] - most);
    for (j = 0; j < t->actions; j++) p[j] /= sum;
}

static void rni_table_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *rng,
                          rn_real *act, void *work) {
    const rn_table *t = (const rn_table *)self;
    const rn_real *row = rni_table_row(t, theta, obs[0]);
    rn_real *logit = (rn_real *)work;
    *act = rni_nan();
    if (!row) return;
    memset(logit, 0, rni_pad(t->actions) * sizeof *logit);
    memcpy(logit, row, t->actions * sizeof *logit);
    *act = rng ? rni_sample_softmax(logit, t->actions, rng, logit + rni_pad(t->actions))
               : rni_most_likely(logit, t->actions);
}

/* p . u */
static rn_real rni_table_mean(const rn_table *t, const rn_real *p, const rn_real *u) {
    rn_real mean = 0;
    size_t j;
    for (j = 0; j < t->actions; j++) mean += p[j] * u[j];
    return mean;
}

/* u NULL: k grad log pi alone, and w is not read */
static void rni_table_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                          const rn_real *obs, const rn_real *act, const rn_real *w,
                          const rn_real *k, rn_real *h, void *work) {
    const rn_table *n = (const rn_table *)self;
    rn_real *p = (rn_real *)work;
    size_t t, j;
    for (t = 0; t < T; t++) {
        const rn_real *logit = rni_table_row(n, theta, obs[t]), *us;
        rn_real *row, mean;
        if (!logit) {
            h[0] = rni_nan();
            return;
        }
        row = h + (logit - theta);
        us = u ? u + (logit - theta) : NULL;
        rni_table_probs(n, logit, p);
        mean = us ? rni_table_mean(n, p, us) : 0;
        for (j = 0; j < n->actions; j++) {
            if (us) row[j] -= w[t] * p[j] * (us[j] - mean);
            if (k) row[j] += k[t] * ((act[t] == (rn_real)j ? (rn_real)1 : (rn_real)0) - p[j]);
        }
    }
}

static void rni_table_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                           const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    rni_table_hvp(self, theta, NULL, T, obs, act, NULL, w, g, work);
}

static void rni_table_dot(void *self, const rn_real *theta, const rn_real *u, size_t T,
                          const rn_real *obs, const rn_real *act, rn_real *c, void *work) {
    const rn_table *n = (const rn_table *)self;
    rn_real *p = (rn_real *)work;
    size_t t, j;
    for (t = 0; t < T; t++) {
        const rn_real *logit = rni_table_row(n, theta, obs[t]);
        c[t] = rni_nan();
        if (!logit) continue;
        rni_table_probs(n, logit, p);
        c[t] = -rni_table_mean(n, p, u + (logit - theta));
        for (j = 0; j < n->actions; j++)
            if (act[t] == (rn_real)j) c[t] += u[(size_t)(logit - theta) + j];
    }
}

/* two padded rows: logits and their exp, or p */
static size_t rni_table_work_size(void *self, size_t T) {
    (void)T;
    return 2 * rni_pad(((const rn_table *)self)->actions) * sizeof(rn_real);
}

RN_API rn_policy rn_make_table_policy(rn_table *table, size_t states, size_t actions) {
    rn_policy p;
    memset(&p, 0, sizeof p);
    table->states = states;
    table->actions = actions;
    if (!states || states > RNI_MOST_UNITS || !actions || actions > RNI_MOST_UNITS) return p;
    if (!aggi_product_fits(states, actions)) return p;
    p.self = table;
    p.dim = states * actions;
    p.obs_dim = p.act_dim = 1;
    p.actions = actions;
    p.act = rni_table_act;
    p.grad = rni_table_grad;
    p.dot = rni_table_dot;
    p.hvp = rni_table_hvp;
    p.work_size = rni_table_work_size;
    p.accepts_obs = rni_table_accepts_obs;
    return p;
}

/* May the policy be given obs, which is finite? */
AGGI_INLINE int rni_obs_ok(const rn_policy *p, const rn_real *obs) {
    return !p->accepts_obs || p->accepts_obs(p->self, obs);
}

RN_API size_t rn_policy_work_size(const rn_policy *p, size_t T) {
    const size_t bytes = p->work_size ? p->work_size(p->self, T) : 0;
    if (p->work_size && !bytes) return 0;
    return bytes > (size_t)-1 - 2 * AGGI_ALIGN ? 0 : bytes + AGGI_ALIGN;
}

RN_API rn_status rn_policy_act(const rn_policy *p, const rn_real *theta, const rn_real *obs,
                               const agg_rng *rng, rn_real *act, void *work, size_t work_size) {
    aggi_arena a = aggi_arena_make(work, work_size);
    const size_t bytes = p && p->work_size ? p->work_size(p->self, 0) : 0;
    void *w = aggi_take(&a, 1, bytes);
    if (!p || !p->act || !theta || !obs || !act) return RN_ERR_ARG;
    if (p->work_size && !bytes) return RN_ERR_SIZE;
    if (p->work_size && !w) return RN_ERR_MEMORY;
    if (!aggi_all_finite(obs, p->obs_dim) || !rni_obs_ok(p, obs)) return RN_ERR_ENV;
    if (p->prepare) p->prepare(p->self, theta, w);
    p->act(p->self, theta, obs, rng, act, w);
    return RN_OK;
}

/* ---- 7 estimators ---------------------------------------------------------------------------- */

/* Psi_t = sum_{h>=t} discount^h r_h: the powers forwards, then the sums backwards. Flat: from
   behind, Psi_t = r_t + discount Psi_{t+1}; dividing by a power would end at 0/0. */
RN_API void rn_compute_returns_to_go(const rn_method *m, size_t T, const double *reward,
                                     double *psi) {
    double sum = 0, power = 1;
    size_t t;
    if (m->flat) {
        for (t = T; t-- > 0;) psi[t] = sum = reward[t] + m->discount * sum;
        return;
    }
    for (t = 0; t < T; t++, power *= m->discount) psi[t] = power * reward[t];
    for (t = T; t-- > 0;) psi[t] = sum += psi[t];
    if (m->estimator == RN_REINFORCE)
        for (t = 0; t < T; t++) psi[t] = sum;
}

/* B u = sum_t k_t grad log pi_t + sum_t Psi_t hess log pi_t u, with c_t = grad log pi_t . u and
     k_t = Psi_t sum_s c_s                                            the paper's
     k_t = Psi_t sum_{s<=t} c_s + sum_{s>t} Psi_s c_s                 causal
     k_t = Psi_t sum_{s<=t} c_s + sum_{s>t} discount^(s-t) Psi_s c_s  causal and flat
   Causal: c_s is 0 on average whatever was before s, so of the rewards in Psi_t those before s fall
   away. What is left is Psi_s; flat, where Psi_s counts from s, discount^(s-t) Psi_s. */
static void rni_hessian_weights(const rn_hessian_product *b) {
    const rn_real *psi = b->psi, *c = b->c;
    const double fade = b->flat ? b->discount : 1;
    double before = 0, after = 0;
    size_t t;
    for (t = 0; t < b->T; t++) {
        before += (double)c[t];
        b->k[t] = (rn_real)((double)psi[t] * before);
    }
    if (!b->causal)
        for (t = 0; t < b->T; t++) b->k[t] = (rn_real)((double)psi[t] * before);
    else
        for (t = b->T; t-- > 0; after = fade * (after + (double)c[t] * (double)psi[t]))
            b->k[t] = (rn_real)((double)b->k[t] + after);
}

/* c without policy.dot: grad of one step at a time */
static void rni_dot_by_grad(const rn_hessian_product *b) {
    const rn_policy *p = b->policy;
    const rn_real one = 1;
    size_t t;
    for (t = 0; t < b->T; t++) {
        const rn_real *obs = b->obs + t * p->obs_dim, *act = b->act + t * p->act_dim;
        memset(b->tmp, 0, p->dim * sizeof *b->tmp);
        p->grad(p->self, b->theta, 1, obs, act, &one, b->tmp, b->work);
        b->c[t] = (rn_real)rni_dot(b->tmp, b->u, p->dim);
    }
}

/* v += B u without policy.hvp: hess u = (grad(theta + e u) - grad(theta - e u)) / 2e, with e where
   truncation (e^2) and rounding (1/e) balance */
static void rni_hvp_by_grad(const rn_hessian_product *b, rn_real *v) {
    const rn_policy *p = b->policy;
    const double root = sizeof(rn_real) == 4 ? 5e-3 : 6e-6, length = rni_norm(b->u, p->dim);
    const double size = 1 + rni_norm(b->theta, p->dim) / aggi_sqrt((double)p->dim);
    const rn_real e = (rn_real)(length > 0 ? root * size / length : 0);
    rn_real *at = b->tmp, *up = at + p->dim, *down = up + p->dim;
    size_t i;
    p->grad(p->self, b->theta, b->T, b->obs, b->act, b->k, v, b->work);
    if (!(e > 0)) return;
    memset(up, 0, 2 * p->dim * sizeof *up);
    for (i = 0; i < p->dim; i++) at[i] = b->theta[i] + e * b->u[i];
    p->grad(p->self, at, b->T, b->obs, b->act, b->psi, up, b->work);
    for (i = 0; i < p->dim; i++) at[i] = b->theta[i] - e * b->u[i];
    p->grad(p->self, at, b->T, b->obs, b->act, b->psi, down, b->work);
    for (i = 0; i < p->dim; i++) v[i] += (up[i] - down[i]) / (2 * e);
}

/* c_t = grad log pi_t . u */
static void rni_hessian_dot(const rn_hessian_product *b) {
    const rn_policy *p = b->policy;
    if (p->dot)
        p->dot(p->self, b->theta, b->u, b->T, b->obs, b->act, b->c, b->work);
    else
        rni_dot_by_grad(b);
}

RN_API void rn_add_hessian_product(const rn_hessian_product *b, rn_real *v) {
    const rn_policy *p = b->policy;
    rni_hessian_dot(b);
    rni_hessian_weights(b);
    if (p->dot && p->hvp)
        p->hvp(p->self, b->theta, b->u, b->T, b->obs, b->act, b->psi, b->k, v, b->work);
    else
        rni_hvp_by_grad(b, v);
}

/* Baselines. Each learns from a trajectory only after it was subtracted from its Psi, so that it
   depends on the past alone and biases nothing. */
typedef struct rni_baseline {
    size_t obs_dim;
    double *sum, *count;      /* TIME: discounted sums of Psi_t and of 1, at each t */
    size_t n, ld;             /* RIDGE: features; a row of features and target, padded */
    double *A, *L, *b, *coef; /* A = sum x x^T (n x n), its Cholesky factor, b = sum x y, A^-1 b */
    rn_real *rows, *sums;     /* a trajectory's rows, T x ld; features^T rows, n x ld */
    rn_real *zero;            /* a row */
} rni_baseline;

static void rni_baseline_layout(rni_baseline *b, aggi_arena *a, const rn_method *m,
                                size_t obs_dim) {
    memset(b, 0, sizeof *b);
    b->obs_dim = obs_dim;
    if (m->baseline == RN_BASELINE_TIME) {
        b->sum = aggi_take_f64(a, m->horizon);
        b->count = aggi_take_f64(a, m->horizon);
    } else if (m->baseline == RN_BASELINE_RIDGE) {
        const size_t n = 4 + 2 * obs_dim, ld = rni_pad(n + 1);
        b->n = n;
        b->ld = ld;
        if (!aggi_product_fits(n, ld)) a->bad = 1;
        b->A = aggi_take_f64(a, n * n);
        b->L = aggi_take_f64(a, n * n);
        b->b = aggi_take_f64(a, n);
        b->coef = aggi_take_f64(a, n);
        b->rows = rni_take_rows(a, m->horizon, ld);
        b->sums = rni_take_rows(a, n, ld);
        b->zero = aggi_take_real(a, ld);
    }
}

static void rni_baseline_clear(rni_baseline *b, size_t horizon) {
    if (b->sum) {
        memset(b->sum, 0, horizon * sizeof *b->sum);
        memset(b->count, 0, horizon * sizeof *b->count);
    }
    if (!b->n) return;
    memset(b->A, 0, b->n * b->n * sizeof *b->A);
    memset(b->b, 0, b->n * sizeof *b->b);
    memset(b->coef, 0, b->n * sizeof *b->coef);
    memset(b->zero, 0, b->ld * sizeof *b->zero);
}

/* L L^T = A + ridge diag A, and a little more for features that are always 0. Returns 0 if there
   are no usable data yet. */
static int rni_cholesky(rni_baseline *s, double ridge) {
    const size_t n = s->n;
    double *L = s->L;
    size_t i, j, k;
    int good = 1;
    for (i = 0; i < n && good; i++)
        for (j = 0; j <= i; j++) {
            double sum = s->A[i * n + j];
            if (i == j) sum += ridge * sum + 1e-12 * (1 + s->A[0]);
            for (k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j) good = sum > 0 && aggi_finite(sum);
            L[i * n + j] = i == j ? aggi_sqrt(good ? sum : 1) : sum / L[j * n + j];
        }
    return good;
}

/* coef = (L L^T)^-1 b, forwards and backwards; all 0 without usable data */
static void rni_baseline_solve(rni_baseline *s, double ridge) {
    const size_t n = s->n;
    const double *L = s->L;
    double *x = s->coef;
    size_t i, k;
    int good = rni_cholesky(s, ridge);
    for (i = 0; i < n && good; i++) {
        double sum = s->b[i];
        for (k = 0; k < i; k++) sum -= L[i * n + k] * x[k];
        x[i] = sum / L[i * n + i];
    }
    for (i = n; i-- > 0 && good;) {
        double sum = x[i];
        for (k = i + 1; k < n; k++) sum -= L[k * n + i] * x[k];
        x[i] = sum / L[i * n + i];
        good = aggi_finite(x[i]);
    }
    if (!good) memset(x, 0, n * sizeof *x);
}

/* at the start of a round: solve, and let the data count less */
static void rni_baseline_begin_round(rni_baseline *b, const rn_method *m) {
    size_t i;
    for (i = 0; i < m->horizon && b->sum; i++) {
        b->sum[i] *= m->forget;
        b->count[i] *= m->forget;
    }
    if (!b->n) return;
    rni_baseline_solve(b, m->ridge);
    for (i = 0; i < b->n * b->n; i++) b->A[i] *= m->forget;
    for (i = 0; i < b->n; i++) b->b[i] *= m->forget;
}

/* Psi_t in units of V(s, t), what is to come as seen from t: discount^t. REINFORCE: 1, V stands for
   Psi_0 itself. Flat: 1, Psi_t is seen from t already. */
static double rni_ridge_unit(const rn_method *m, double power) {
    return m->estimator == RN_REINFORCE || m->flat ? 1 : power;
}

/* row t: 1, x, x^2, x^3 (x = t/H), s_i, s_i^2, target, padding */
static void rni_ridge_rows(rni_baseline *b, const rn_method *m, size_t T, const rn_real *obs,
                           const double *psi) {
    double power = 1;
    size_t t, i;
    for (t = 0; t < T; t++, power *= m->discount) {
        const rn_real x = (rn_real)((double)t / (double)m->horizon), *s = obs + t * b->obs_dim;
        const double unit = rni_ridge_unit(m, power);
        rn_real *row = b->rows + t * b->ld;
        row[0] = 1;
        row[1] = x;
        row[2] = x * x;
        row[3] = x * x * x;
        for (i = 0; i < b->obs_dim; i++) {
            row[4 + i] = s[i];
            row[4 + b->obs_dim + i] = s[i] * s[i];
        }
        row[b->n] = (rn_real)(unit > 0 ? psi[t] / unit : 0);
        for (i = b->n + 1; i < b->ld; i++) row[i] = 0;
    }
}

/* A += x x^T and b += x y for every row. A trajectory whose sums overflow is left out; if A or b
   overflow, the data so far are forgotten. |A_ij| <= max A_ii, so the diagonal tells. */
static void rni_ridge_learn(rni_baseline *b, const rn_method *m, size_t T) {
    const size_t n = b->n, ld = b->ld;
    size_t i, j;
    int good = 1;
    RNI_MATMUL_T(AGGI_HAS_AVX2)(n, ld, T, b->rows, ld, b->rows, b->zero, b->sums);
    if (!aggi_all_finite(b->sums, n * ld)) return;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) b->A[i * n + j] += (double)b->sums[i * ld + j];
        b->b[i] += (double)b->sums[i * ld + n];
        good = good && aggi_finite(b->A[i * n + i]) && aggi_finite(b->b[i]);
    }
    if (!good) rni_baseline_clear(b, m->horizon);
}

/* Psi_t -= unit V(s_t, t), V = coef . x */
static void rni_ridge_apply(rni_baseline *b, const rn_method *m, size_t T, const rn_real *obs,
                            double *psi) {
    double power = 1;
    size_t t, i;
    rni_ridge_rows(b, m, T, obs, psi);
    for (t = 0; t < T; t++, power *= m->discount) {
        const rn_real *row = b->rows + t * b->ld;
        double v = 0;
        for (i = 0; i < b->n; i++) v += b->coef[i] * (double)row[i];
        psi[t] -= rni_ridge_unit(m, power) * v;
    }
    rni_ridge_learn(b, m, T);
}

/* Psi_t -= mean of the Psi_t before */
static void rni_time_apply(rni_baseline *b, size_t T, double *psi) {
    size_t t;
    for (t = 0; t < T; t++) {
        const double value = psi[t];
        if (b->count[t] > 0) psi[t] -= b->sum[t] / b->count[t];
        if (!aggi_finite(b->sum[t] + value)) continue;
        b->sum[t] += value;
        b->count[t] += 1;
    }
}

static void rni_baseline_apply(rni_baseline *b, const rn_method *m, size_t T, const rn_real *obs,
                               double *psi) {
    if (b->n) rni_ridge_apply(b, m, T, obs, psi);
    if (b->sum) rni_time_apply(b, T, psi);
}

/* Psi_t to mean 0 and deviation 1 */
static void rni_whiten(size_t T, double *psi) {
    double mean = 0, var = 0, scale;
    size_t t;
    for (t = 0; t < T; t++) mean += psi[t];
    mean /= (double)T;
    for (t = 0; t < T; t++) var += (psi[t] - mean) * (psi[t] - mean);
    scale = 1 / (aggi_sqrt(var / (double)T) + 1e-8);
    for (t = 0; t < T; t++) psi[t] = (psi[t] - mean) * scale;
}

/* method.tuned: filters that know how good their d is. Scalars stand for mean squared errors,
   summed over the coordinates.
     R = Var g        from ||g - d||^2, which is R + the error of d on average
     V = E ||v||^2    from ||v||^2/||u||^2; D = share V is the gradient's way, N = V - D is noise
   d is off by what is noise, `error`, and by what it lags behind, `lag`, taken to lie in one
   direction from round to round:
     w    = argmin of P = error + w^2 N + (lag + (1-w) sqrt D)^2, 0 .. 1
     eta  = P/(P + R), which minimises (1-eta)^2 P + eta^2 R
   What part of V is noise cannot be seen. So there are filters with several answers, each with a d
   of its own, and as g_t is new to all and right on average, the d with the least mean of
   ||g_t - d_{t-1}||^2 is nearest to the gradient. */
#define RNI_FILTERS       3
#define RNI_FILTER_ROUNDS 16.0        /* R and V are averages over so many rounds, ... */
#define RNI_SCORE_ROUNDS  64.0        /* ... scores over so many */
#define RNI_FILTER_FLOOR  (1.0 / 256) /* least eta */
#define RNI_FILTER_MOST   1e150       /* of every scalar; its square fits */

static const double rni_filter_share[RNI_FILTERS] = {0.75, 0.1, 0.001};

typedef struct rni_filter {
    double noise;      /* R */
    double error, lag; /* of d */
    double score;      /* mean of ||g - d||^2 - ||g||^2 */
} rni_filter;

typedef struct rni_bank {
    double rounds, moves; /* in the averages: at most RNI_SCORE_ROUNDS, RNI_FILTER_ROUNDS */
    double change;        /* V/||u||^2 */
    rni_filter filter[RNI_FILTERS];
} rni_bank;

/* what a round says to all filters, and to one */
typedef struct rni_sample {
    double gg, vv, uu; /* ||g||^2, ||v||^2, ||u||^2 */
    double gd, dd;     /* g . d, ||d||^2 */
} rni_sample;

typedef struct rni_gains {
    double w, eta;
    double noise, lag; /* of d + w v; P = noise + lag^2 */
} rni_gains;

static rni_gains rni_filter_gains(const rni_filter *f, double share, double V) {
    const double D = share * V, N = V - D, root = aggi_sqrt(D);
    rni_gains k;
    double P;
    k.w = V > 0 ? (D + f->lag * root) / V : 0;
    if (k.w > 1) k.w = 1;
    k.noise = f->error + k.w * k.w * N;
    k.lag = f->lag + (1 - k.w) * root;
    P = k.noise + k.lag * k.lag;
    k.eta = P + f->noise > 0 ? P / (P + f->noise) : 1;
    if (k.eta < RNI_FILTER_FLOOR) k.eta = RNI_FILTER_FLOOR;
    return k;
}

/* the mean of `count` numbers, the last of which is x; more than `most` count as so many */
static double rni_running_mean(double mean, double x, double count, double most) {
    return mean + (x - mean) / (count < most ? count : most);
}

/* R is a known share of E ||g - d||^2 = R + error + lag^2. count: rounds, with this one */
static void rni_filter_learn(rni_filter *f, const rni_gains *k, const rni_sample *s, double count) {
    const double sum = f->noise + f->error + f->lag * f->lag, score = s->dd - 2 * s->gd;
    const double pp = s->gg + score, keep = 1 - k->eta;
    if (sum > 0 && pp > 0)
        f->noise = rni_running_mean(f->noise, pp * (f->noise / sum), count, RNI_FILTER_ROUNDS);
    f->score = rni_running_mean(f->score, score, count, RNI_SCORE_ROUNDS);
    f->error = keep * keep * k->noise + k->eta * k->eta * f->noise;
    f->lag = keep * k->lag;
}

/* d = g. In the first round R is not known: ||g||^2 is more, and is soon corrected. */
static void rni_bank_start(rni_bank *b, double gg) {
    size_t k;
    for (k = 0; k < RNI_FILTERS; k++) {
        rni_filter *f = &b->filter[k];
        if (!(b->rounds > 0)) f->noise = gg;
        f->error = f->noise;
        f->lag = 0;
    }
}

static void rni_bank_learn_v(rni_bank *b, const rni_sample *s) {
    if (!(s->uu > 0)) return;
    if (b->moves < RNI_FILTER_ROUNDS) b->moves += 1;
    b->change = rni_running_mean(b->change, s->vv / s->uu, b->moves, RNI_FILTER_ROUNDS);
}

static size_t rni_bank_best(const rni_bank *b) {
    size_t k, best = 0;
    for (k = 1; k < RNI_FILTERS; k++)
        if (b->filter[k].score < b->filter[best].score) best = k;
    return best;
}

/* Does everything fit? NaN does not. */
static int rni_bank_fits(const rni_bank *b) {
    const double most = RNI_FILTER_MOST;
    size_t k;
    int good = aggi_within(b->change, 0, most);
    for (k = 0; k < RNI_FILTERS; k++) {
        const rni_filter *f = &b->filter[k];
        good = good && aggi_within(f->noise, 0, most) && aggi_within(f->error, 0, most) &&
               aggi_within(f->lag, 0, most) && aggi_within(f->score, -most, most);
    }
    return good;
}

/* ---- 8 agent --------------------------------------------------------------------------------- */

/* Who plays: an environment and a policy at theta, with their random numbers. */
typedef struct rni_play {
    const rn_env *env;
    const rn_policy *policy;
    const rn_real *theta;
    const agg_rng *rng;     /* of the environment */
    const agg_rng *act_rng; /* of the policy; NULL: the most likely action */
    int random_action;      /* 1: actions uniform, by rng, instead of the policy's */
    void *work;
} rni_play;

/* clang-format off */

/* environment and policy, alone and together */
static rn_status rni_play_check(const rn_env *e, const rn_policy *p, rni_complaint *c) {
    const double shown = (double)e->obs_dim, taken = (double)e->act_dim;
    const double actions = (double)e->actions;
    const rni_check list[] = {
        {!e->reset || !e->step, RN_ERR_ARG, "env.reset or env.step is NULL", {0}},
        {!p->act, RN_ERR_ARG, "policy.act is NULL", {0}},
        {!p->dim, RN_ERR_ARG, "policy.dim is 0: see rn_net_explain()", {0}},
        {!e->obs_dim || !e->act_dim, RN_ERR_ARG,
         "env.obs_dim is #, env.act_dim is #: neither is 0 (act_dim is 1 if discrete)",
         {shown, taken}},
        {e->obs_dim != p->obs_dim, RN_ERR_DESC,
         "the environment shows # numbers, the policy takes # (env.obs_dim, policy.obs_dim)",
         {shown, (double)p->obs_dim}},
        {e->actions && !p->actions, RN_ERR_DESC,
         "the environment is discrete, with # actions, the policy is continuous (Gaussian?)",
         {actions}},
        {!e->actions && p->actions, RN_ERR_DESC,
         "the environment is continuous (env.actions is 0), the policy has # actions (softmax?)",
         {(double)p->actions}},
        {e->actions != p->actions, RN_ERR_DESC, "the environment has # actions, the policy #",
         {actions, (double)p->actions}},
        {e->act_dim != p->act_dim, RN_ERR_DESC,
         "the environment takes # numbers as an action, the policy gives # (act_dim)",
         {taken, (double)p->act_dim}},
        {!aggi_product_fits(e->obs_dim, 2) || !aggi_product_fits(e->act_dim, 2), RN_ERR_SIZE,
         "env.obs_dim is #, env.act_dim is #: sizes overflow", {shown, taken}},
        {e->actions && e->act_dim != 1, RN_ERR_DESC,
         "env.act_dim is # with # discrete actions: a discrete action is 1 number",
         {taken, actions}},
        {!aggi_finite(e->act_low) || !aggi_finite(e->act_high) || e->act_low > e->act_high,
         RN_ERR_DESC, "env.act_low is #, env.act_high is #: finite, and low is at most high",
         {e->act_low, e->act_high}},
        {e->actions > RNI_MOST_UNITS, RN_ERR_DESC, "env.actions is #: at most #",
         {actions, (double)RNI_MOST_UNITS}},
        {e->state_size && (!e->save || !e->load), RN_ERR_DESC,
         "env.state_size is #, but env.save or env.load is NULL", {(double)e->state_size}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* clang-format on */

static rn_status rni_play_reset(const rni_play *p, rn_real *obs) {
    p->env->reset(p->env->self, p->rng, obs);
    return aggi_all_finite(obs, p->env->obs_dim) ? RN_OK : RN_ERR_ENV;
}

/* where random actions lie */
typedef struct rni_range {
    double low, high;
} rni_range;

static rni_range rni_random_range(const rn_env *e) {
    const int unset = e->act_low == 0 && e->act_high == 0;
    rni_range r;
    r.low = unset ? -1 : e->act_low;
    r.high = unset ? 1 : e->act_high;
    return r;
}

static void rni_random_action(const rn_env *e, const agg_rng *rng, rn_real *act) {
    const rni_range r = rni_random_range(e);
    size_t j;
    if (e->actions) {
        act[0] = (rn_real)rn_draw_below(rng, e->actions);
        return;
    }
    for (j = 0; j < e->act_dim; j++) {
        const double x = r.low + (r.high - r.low) * rn_draw_uniform(rng);
        act[j] = (rn_real)(x < r.high ? x : r.high);
    }
}

/* one of 0 .. actions-1, or finite numbers */
AGGI_INLINE int rni_action_ok(const rn_env *e, const rn_real *act) {
    size_t j;
    if (e->actions) return rni_is_index(act[0], e->actions);
    for (j = 0; j < e->act_dim; j++)
        if (!aggi_finite((double)act[j])) return 0;
    return 1;
}

/* obs -> act by the policy or at random. obs is not checked until it is used: the last of a
   trajectory never is. */
AGGI_INLINE rn_status rni_play_act(const rni_play *p, const rn_real *obs, rn_real *act) {
    if (!rni_obs_ok(p->policy, obs)) return RN_ERR_ENV;
    if (p->random_action)
        rni_random_action(p->env, p->rng, act);
    else
        p->policy->act(p->policy->self, p->theta, obs, p->act_rng, act, p->work);
    return RN_OK;
}

/* Is it finite? A short one is read number by number, as it was written a moment ago: the processor
   would let a vector wait until all of them are in the cache. */
AGGI_INLINE int rni_obs_finite(const rn_real *obs, size_t n) {
    size_t i;
    if (n > RNI_LANES) return aggi_all_finite(obs, n);
    for (i = 0; i < n; i++)
        if (!aggi_finite((double)obs[i])) return 0;
    return 1;
}

/* act -> next, reward and whether it goes on by the environment; all are checked */
AGGI_INLINE rn_status rni_play_move(const rni_play *p, const rn_real *act, rn_real *next,
                                    double *reward, int *running) {
    const rn_env *e = p->env;
    rn_step_result r;
    if (!rni_action_ok(e, act)) return RN_ERR_POLICY;
    r = e->step(e->self, act, p->rng, next, reward);
    if ((unsigned)r > RN_TRUNCATED || !aggi_finite(*reward)) return RN_ERR_ENV;
    if (!rni_obs_finite(next, e->obs_dim)) return RN_ERR_ENV;
    *running = r == RN_RUNNING;
    return RN_OK;
}

/* A trajectory: is there one; it is played; Psi is due; g is; v, or c alone. */
enum { RNI_IDLE, RNI_PLAYING, RNI_ENDED, RNI_SUMS_G, RNI_SUMS_V };

struct rn_agent {
    rn_env env;
    rn_policy policy;
    rn_method method;
    uint64_t seed; /* of random */
    uint32_t stream;
    agg_rng rng;
    rn_random random; /* behind rng, unless that is the host's */
    int random_action, flip_reward;
    double reach, eta_min, poison; /* as in the desc */
    rn_stats stats;
    int has_d;         /* d and theta_{t-1} exist */
    size_t last_round; /* d is the answer to the plan of this number, 0: of none, ... */
    double last_eta;   /* ... theta_{t-1} and this eta */
    int busy;          /* a round is under way ... */
    int again;         /* ... that was made before ... */
    int stage;         /* ... or in it a trajectory: RNI_IDLE: none, and so on */
    int kept;          /* its acts left what grad and dot start from */
    size_t at;         /* of its sums so many steps are done, of g; of c, then of v */
    size_t round;      /* the plan's number */
    size_t trajectory, trajectories; /* of this round: done, and in all (m, with tau^ 2 m) */
    int with_v;                      /* v counts in this round */
    int moved;                       /* u is not 0 */
    size_t t;                        /* steps of the trajectory so far */
    double eta;
    double sum_return, sum_length;
    double sum_cc, count_cc; /* method.curvature: of c_t^2 in this round, of so many steps */
    double curvature;        /* mean c_t^2/||u||^2 of the last round with u; -1: there was none */
    rni_baseline baseline;
    rni_bank bank;                       /* method.tuned: the filters, ... */
    rn_real *bank_d;                     /* ... and the d of each; NULL without */
    rn_real *d, *g, *v;                  /* dim numbers each, as in Algorithm 1 */
    rn_real *theta, *before, *u;         /* theta_t, theta_{t-1}, theta_t - theta_{t-1} */
    rn_real *hat;                        /* theta^, or theta~ */
    rn_real *tmp;                        /* 3 dim, see rn_hessian_product */
    rn_real *obs, *act, *weight, *k, *c; /* the trajectory; obs has a row more */
    rn_real *row;                        /* one of obs or act, as a saved state has it */
    double *reward, *psi;
    void *work; /* the policy's */
    unsigned char *env_backup;
};

static void rni_agent_defaults(rn_agent_desc *d) {
    rn_method *m = &d->method;
    if (!m->horizon) m->horizon = 1000;
    if (!m->batch) m->batch = 1;
    if (aggi_is_zero(m->forget)) m->forget = 0.9;
    if (aggi_is_zero(m->ridge)) m->ridge = 1e-3;
    if (m->tuned) m->reuse = 1;
    if (m->lookahead) m->no_hessian = 1;
}

/* clang-format off */
static rn_status rni_method_check(const rn_method *m, rni_complaint *c) {
    const rni_check list[] = {
        {(unsigned)m->estimator > RN_REINFORCE, RN_ERR_DESC,
         "method.estimator is #: there are 0 .. #", {(double)m->estimator, RN_REINFORCE}},
        {(unsigned)m->baseline > RN_BASELINE_RIDGE, RN_ERR_DESC,
         "method.baseline is #: there are 0 .. #", {(double)m->baseline, RN_BASELINE_RIDGE}},
        {!aggi_within(m->discount, 0, 1), RN_ERR_DESC,
         "method.discount is #: it is 0 .. 1", {m->discount}},
        {!aggi_within(m->clip, 0, DBL_MAX), RN_ERR_DESC,
         "method.clip is #: it is 0 or more, and finite", {m->clip}},
        {!aggi_within(m->forget, 0, 1), RN_ERR_DESC,
         "method.forget is #: it is 0 .. 1", {m->forget}},
        {!aggi_within(m->ridge, 0, DBL_MAX), RN_ERR_DESC,
         "method.ridge is #: it is 0 or more, and finite", {m->ridge}},
        {m->flat && m->estimator == RN_REINFORCE, RN_ERR_DESC,
         "method.flat is not for RN_REINFORCE: Psi_0/discount^t would grow without end", {0}},
        {m->tuned && m->no_memory, RN_ERR_DESC,
         "method.tuned excludes method.no_memory: its filters stand on memory", {0}},
        {m->lookahead && m->no_memory, RN_ERR_DESC,
         "method.lookahead excludes method.no_memory: it stands on memory", {0}},
        {m->lookahead && m->tuned, RN_ERR_DESC,
         "method.lookahead excludes method.tuned: it has no v to weigh", {0}},
        {m->lookahead && m->reuse, RN_ERR_DESC,
         "method.lookahead excludes method.reuse: it has no v to make", {0}},
        {m->tuned && m->no_hessian, RN_ERR_DESC,
         "method.tuned excludes method.no_hessian: it weighs v, and there is none", {0}},
        {m->reuse && m->no_hessian, RN_ERR_DESC,
         "method.reuse excludes method.no_hessian: it is a way to make v, and there is none",
         {0}}};
    return RNI_FIRST_FAILURE(list, c);
}

static rn_status rni_agent_check(const rn_agent_desc *d, rni_complaint *c) {
    const rn_method *m = &d->method;
    const rn_policy *p = &d->policy;
    const rni_check list[] = {
        {!p->grad, RN_ERR_ARG, "policy.grad is NULL", {0}},
        {!aggi_is_number(d->reach) || d->reach < 0, RN_ERR_DESC,
         "reach is #: it is 0 or more", {d->reach}},
        {!aggi_within(d->eta_min, 0, 1), RN_ERR_DESC, "eta_min is #: it is 0 .. 1", {d->eta_min}},
        {!aggi_within(d->poison, 0, DBL_MAX), RN_ERR_DESC,
         "poison is #: it is 0 or more, and finite", {d->poison}},
        {m->horizon > (size_t)-1 / 2 || m->batch > (size_t)-1 / 2 ||
         !aggi_product_fits(m->horizon + 1, p->obs_dim) ||
         !aggi_product_fits(m->horizon, p->act_dim) || !aggi_product_fits(p->dim, 16), RN_ERR_SIZE,
         "method.horizon is #, method.batch is #, policy.dim is #: sizes overflow",
         {(double)m->horizon, (double)m->batch, (double)p->dim}}};
    rn_status s = rni_play_check(&d->env, p, c);
    if (s == RN_OK) s = rni_method_check(m, c);
    return s == RN_OK ? RNI_FIRST_FAILURE(list, c) : s;
}

/* clang-format on */

static void rni_agent_layout_arrays(rn_agent *g, aggi_arena *a) {
    const rn_policy *p = &g->policy;
    const size_t horizon = g->method.horizon;
    g->d = aggi_take_real(a, p->dim);
    g->theta = aggi_take_real(a, p->dim);
    g->before = aggi_take_real(a, p->dim);
    g->u = aggi_take_real(a, p->dim);
    g->hat = aggi_take_real(a, p->dim);
    g->g = aggi_take_real(a, p->dim);
    g->v = aggi_take_real(a, p->dim);
    g->tmp = aggi_take_real(a, 3 * p->dim);
    if (g->method.tuned) g->bank_d = aggi_take_real(a, RNI_FILTERS * p->dim);
    g->obs = aggi_take_real(a, (horizon + 1) * p->obs_dim);
    g->act = aggi_take_real(a, horizon * p->act_dim);
    g->weight = aggi_take_real(a, horizon);
    g->k = aggi_take_real(a, horizon);
    g->c = aggi_take_real(a, horizon);
    g->row = aggi_take_real(a, p->obs_dim > p->act_dim ? p->obs_dim : p->act_dim);
    g->reward = aggi_take_f64(a, horizon);
    g->psi = aggi_take_f64(a, horizon);
}

/* Addresses, and what d says. Sizes that callbacks give are asked for once, here. NULL: counted
   only, or too little memory. */
static rn_agent *rni_agent_layout(const rn_agent_desc *d, aggi_arena *a) {
    rn_agent *agent = (rn_agent *)aggi_take(a, 1, sizeof *agent), g;
    const rn_policy *p = &d->policy;
    memset(&g, 0, sizeof g);
    g.env = d->env;
    g.policy = *p;
    g.method = d->method;
    g.seed = d->seed;
    g.stream = d->stream;
    g.rng = d->rng;
    g.random_action = d->random_action;
    g.flip_reward = d->flip_reward;
    g.reach = d->reach;
    g.eta_min = d->eta_min;
    g.poison = d->poison;
    rni_agent_layout_arrays(&g, a);
    rni_baseline_layout(&g.baseline, a, &d->method, p->obs_dim);
    if (p->work_size) {
        const size_t bytes = p->work_size(p->self, d->method.horizon);
        if (!bytes) a->bad = 1;
        g.work = aggi_take(a, 1, bytes);
    }
    g.env_backup = (unsigned char *)aggi_take(a, 1, d->env.state_size);
    if (!rni_arena_holds(a)) return NULL;
    *agent = g;
    return agent;
}

/* hat is saved with the rest, also before its first use */
static void rni_agent_init(rn_agent *g) {
    g->random = rn_make_random(g->seed, g->rng.next ? 0 : g->stream);
    if (!g->rng.next) g->rng = rn_random_rng(&g->random);
    g->curvature = -1;
    memset(g->hat, 0, g->policy.dim * sizeof *g->hat);
    rni_baseline_clear(&g->baseline, g->method.horizon);
}

/* defaults, check, layout; *out as rni_agent_layout() */
static rn_status rni_agent_place(rn_agent_desc d, aggi_arena *a, rn_agent **out, rni_complaint *c) {
    rn_status s;
    rni_agent_defaults(&d);
    s = rni_agent_check(&d, c);
    if (s != RN_OK) return s;
    *out = rni_agent_layout(&d, a);
    return a->bad ? RN_ERR_SIZE : RN_OK;
}

RN_API size_t rn_agent_size(const rn_agent_desc *d) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    rn_agent *none;
    return d && rni_agent_place(*d, &a, &none, &unsaid) == RN_OK ? aggi_arena_size(&a) : 0;
}

RN_API rn_status rn_agent_init(rn_agent **agent, const rn_agent_desc *d, void *memory,
                               size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rni_complaint unsaid;
    rn_agent *g = NULL;
    rn_status s;
    if (!agent || !d || !memory) return RN_ERR_ARG;
    s = rni_agent_place(*d, &a, &g, &unsaid);
    if (s != RN_OK) return s;
    if (!g) return RN_ERR_MEMORY;
    rni_agent_init(g);
    *agent = g;
    return RN_OK;
}

/* The trajectories tau for g come first, then the tau^ for v. */
static int rni_is_hat(const rn_agent *a) { return a->trajectory >= a->method.batch; }

/* where it is played: theta_t, or theta^, or theta~ */
static const rn_real *rni_agent_point(const rn_agent *a) {
    return rni_is_hat(a) || a->method.lookahead ? a->hat : a->theta;
}

/* tau ~ policy theta_t, tau^ ~ policy theta^ */
static rni_play rni_agent_player(const rn_agent *a) {
    rni_play p;
    p.env = &a->env;
    p.policy = &a->policy;
    p.theta = rni_agent_point(a);
    p.rng = p.act_rng = &a->rng;
    p.random_action = a->random_action;
    p.work = a->work;
    return p;
}

static rn_status rni_agent_start_trajectory(rn_agent *a) {
    rni_play play;
    size_t i;
    if (rni_is_hat(a)) {
        /* q ~ U[0,1] */
        const rn_real q = (rn_real)rn_draw_uniform(&a->rng), p = 1 - q;
        /* theta^ = q theta_t + (1-q) theta_{t-1} */
        for (i = 0; i < a->policy.dim; i++) a->hat[i] = q * a->theta[i] + p * a->before[i];
    }
    play = rni_agent_player(a);
    if (a->policy.prepare) a->policy.prepare(a->policy.self, play.theta, a->work);
    rni_policy_keep(&a->policy, a->method.horizon, a->work);
    a->t = 0;
    a->stage = RNI_PLAYING;
    return rni_play_reset(&play, a->obs);
}

/* weight = Psi, less the baseline, whitened */
static void rni_agent_weights(rn_agent *a) {
    size_t t;
    rn_compute_returns_to_go(&a->method, a->t, a->reward, a->psi);
    rni_baseline_apply(&a->baseline, &a->method, a->t, a->obs, a->psi);
    if (a->method.whiten) rni_whiten(a->t, a->psi);
    for (t = 0; t < a->t; t++) a->weight[t] = (rn_real)a->psi[t];
}

/* v = B(tau^, theta^) (theta_t - theta_{t-1}), or B(tau, theta_t) of it */
static rn_hessian_product rni_agent_product(const rn_agent *a) {
    rn_hessian_product b;
    b.policy = &a->policy;
    b.theta = rni_agent_point(a);
    b.u = a->u;
    b.T = a->t;
    b.obs = a->obs;
    b.act = a->act;
    b.psi = a->weight;
    b.causal = a->method.causal;
    b.flat = a->method.flat;
    b.discount = a->method.discount;
    b.k = a->k;
    b.c = a->c;
    b.tmp = a->tmp;
    b.work = a->work;
    return b;
}

/* k_h, to psi, of g . u = sum_h k_h r_h; c is known */
static void rni_poison_weights(rn_agent *a) {
    const rn_method *m = &a->method;
    double sum = 0, power = 1;
    size_t h;
    for (h = 0; h < a->t && m->estimator == RN_REINFORCE; h++) sum += (double)a->c[h];
    for (h = 0; h < a->t; h++, power *= m->discount) {
        if (m->flat) sum *= m->discount;
        if (m->estimator == RN_GPOMDP) sum += (double)a->c[h];
        a->psi[h] = m->flat ? sum : power * sum;
    }
}

/* r_h - eps sqrt(T) k_h/||k||, an adversary's; where theta did not move nothing is to be undone */
static void rni_agent_poison(rn_agent *a) {
    const rn_hessian_product b = rni_agent_product(a);
    double square = 0, scale;
    size_t h;
    if (!(a->poison > 0) || !a->moved) return;
    rni_hessian_dot(&b);
    a->kept = 0; /* dot laid its work out anew */
    rni_poison_weights(a);
    for (h = 0; h < a->t; h++) square += a->psi[h] * a->psi[h];
    scale = a->poison * aggi_sqrt((double)a->t / square);
    for (h = 0; h < a->t && aggi_finite(scale); h++) a->reward[h] -= scale * a->psi[h];
}

/* The trajectory at hand: is v made of it? And c, which also tells the curvature: where v is made
   of the trajectory, or where no v is made at all. */
static int rni_makes_v(const rn_agent *a) {
    return rni_is_hat(a) || (a->method.reuse && a->with_v);
}

static int rni_sees_c(const rn_agent *a) {
    return a->method.curvature && a->moved && rni_makes_v(a) == a->with_v;
}

/* c_t^2, and the statistics of tau. A return that makes their sum overflow is not counted. */
static void rni_agent_count(rn_agent *a) {
    double sum = 0;
    size_t t;
    if (rni_sees_c(a)) {
        a->sum_cc += rni_dot(a->c, a->c, a->t);
        a->count_cc += (double)a->t;
    }
    if (rni_is_hat(a)) return;
    for (t = 0; t < a->t; t++) sum += a->reward[t];
    if (aggi_finite(a->sum_return + sum)) a->sum_return += sum;
    a->sum_length += (double)a->t;
}

static rn_status rni_agent_end_trajectory(rn_agent *a) {
    a->stage = RNI_IDLE;
    if (!aggi_all_finite(a->v, a->policy.dim)) return RN_ERR_POLICY;
    rni_agent_count(a);
    RNI_UP(a->stats.trajectories, uint64_t);
    a->trajectory++;
    return RN_OK;
}

/* RNI_ENDED: Psi, which the sums are weighted with */
static rn_status rni_agent_weigh(rn_agent *a) {
    a->kept = rni_policy_kept(&a->policy, a->t, a->work);
    rni_agent_poison(a);
    rni_agent_weights(a);
    a->stage = rni_is_hat(a) ? RNI_SUMS_V : RNI_SUMS_G;
    a->at = 0;
    return aggi_all_finite(a->weight, a->t) ? RN_OK : RN_ERR_POLICY;
}

/* What comes next of g, c or v: a block of a net of this header, all of any other policy's. */
static size_t rni_agent_part_end(const rn_agent *a, size_t from) {
    return rni_is_net(&a->policy) && a->t - from > RNI_BLOCK ? from + RNI_BLOCK : a->t;
}

static void rni_agent_do_part(const rn_agent *a, int kind, size_t from, rn_real *out) {
    const int avx2 = AGGI_HAS_AVX2;
    rni_part q = rni_part_make(kind, rni_agent_point(a), a->t, a->obs, a->act, a->work);
    q.kept = a->kept;
    q.from = from;
    q.to = rni_agent_part_end(a, from);
    q.u = a->u;
    q.weight = a->weight;
    q.k = a->k;
    q.out = out;
    AGGI_TWIN(avx2, rni_net_do_part)(a->policy.self, &q);
}

/* RNI_SUMS_G: g = g(tau, theta_t) = sum_t Psi_t grad log pi_t, summed over the batch. It is checked
   before v is begun: what is saved in between must be what loading takes. */
static rn_status rni_agent_sum_g(rn_agent *a) {
    const rn_policy *p = &a->policy;
    if (rni_is_net(p))
        rni_agent_do_part(a, RNI_PART_GRAD, a->at, a->g);
    else
        p->grad(p->self, rni_agent_point(a), a->t, a->obs, a->act, a->weight, a->g, a->work);
    a->at = rni_agent_part_end(a, a->at);
    if (a->at < a->t) return RN_OK;
    if (!aggi_all_finite(a->g, a->policy.dim)) return RN_ERR_POLICY;
    a->at = 0;
    a->stage = RNI_SUMS_V;
    return rni_makes_v(a) || rni_sees_c(a) ? RN_OK : rni_agent_end_trajectory(a);
}

/* c, then k, then v, of a net of this header */
static void rni_agent_sum_v_part(rn_agent *a) {
    const rn_hessian_product b = rni_agent_product(a);
    if (a->at >= a->t) {
        rni_agent_do_part(a, RNI_PART_HVP, a->at - a->t, a->v);
        a->at = a->t + rni_agent_part_end(a, a->at - a->t);
        return;
    }
    rni_agent_do_part(a, RNI_PART_DOT, a->at, a->c);
    a->at = rni_agent_part_end(a, a->at);
    if (a->at == a->t) rni_hessian_weights(&b);
}

/* RNI_SUMS_V: v = B u, summed over the batch; or c alone */
static rn_status rni_agent_sum_v(rn_agent *a) {
    const rn_hessian_product b = rni_agent_product(a);
    const size_t last = rni_makes_v(a) ? 2 * a->t : a->t;
    if (rni_is_net(&a->policy)) {
        rni_agent_sum_v_part(a);
        return a->at < last ? RN_OK : rni_agent_end_trajectory(a);
    }
    if (rni_makes_v(a))
        rn_add_hessian_product(&b, a->v);
    else
        rni_hessian_dot(&b);
    return rni_agent_end_trajectory(a);
}

/* One piece of what falls due at the end of a trajectory. */
static rn_status rni_agent_sum(rn_agent *a) {
    if (a->stage == RNI_ENDED) return rni_agent_weigh(a);
    return a->stage == RNI_SUMS_G ? rni_agent_sum_g(a) : rni_agent_sum_v(a);
}

/* What that piece counts in a budget. A step of a trajectory counts 1; what is made of it for g, c
   and v takes about 2, 1 and 3 times as long as to act, if the policy is a net. */
#define RNI_PIECE (3 * RNI_BLOCK) /* the most, of such a net */

static size_t rni_agent_piece(const rn_agent *a) {
    const int hvp = a->stage == RNI_SUMS_V && (a->at >= a->t || !rni_is_net(&a->policy));
    const size_t from = a->at % a->t, steps = rni_agent_part_end(a, from) - from;
    if (a->stage == RNI_ENDED) return 1 + a->t / 8;
    return steps * (a->stage == RNI_SUMS_G ? 2 : hvp ? 3 : 1);
}

/* What v is multiplied by: 1/batch, or less so that ||v|| <= clip ||d||. */
static rn_real rni_agent_v_scale(const rn_agent *a) {
    const double share = (double)(1 / (rn_real)a->method.batch);
    double most, size;
    if (!(a->method.clip > 0) || !a->with_v) return (rn_real)share;
    most = a->method.clip * rni_norm(a->d, a->policy.dim);
    size = rni_norm(a->v, a->policy.dim) * share;
    return (rn_real)(size > most ? share * (most / size) : share);
}

/* One filter: its new d, to `to`. Given: g and v, not their sums. */
static void rni_agent_tune_one(const rn_agent *a, rni_bank *b, size_t which, rni_sample s,
                               rn_real *to) {
    const size_t dim = a->policy.dim;
    const rn_real *d = a->bank_d + which * dim;
    const rni_gains k =
        rni_filter_gains(&b->filter[which], rni_filter_share[which], b->change * s.uu);
    const rn_real eta = (rn_real)k.eta, keep = 1 - eta, w = (rn_real)k.w;
    size_t i;
    s.gd = rni_dot(a->g, d, dim);
    s.dd = rni_dot(d, d, dim);
    rni_filter_learn(&b->filter[which], &k, &s, b->rounds);
    for (i = 0; i < dim; i++) to[i] = keep * (d[i] + w * a->v[i]) + eta * a->g[i];
}

/* All filters: their new d to tmp, and that of the best so far to g. What they learn goes to *b. */
static void rni_agent_tune(rn_agent *a, rni_bank *b) {
    const size_t dim = a->policy.dim, best = rni_bank_best(b);
    const rn_real share = 1 / (rn_real)a->method.batch;
    const int anew = !a->has_d || a->eta >= 1;
    rni_sample s = {0, 0, 0, 0, 0};
    size_t i, k;
    for (i = 0; i < dim; i++) {
        a->g[i] *= share;
        a->v[i] *= share;
    }
    s.gg = rni_dot(a->g, a->g, dim);
    s.vv = rni_dot(a->v, a->v, dim);
    s.uu = a->with_v ? rni_dot(a->u, a->u, dim) : 0;
    if (!(b->moves > 0) && s.uu > 0) b->change = s.vv / s.uu;
    if (anew) rni_bank_start(b, s.gg);
    if (!anew && b->rounds < RNI_SCORE_ROUNDS) b->rounds += 1;
    for (k = 0; k < RNI_FILTERS; k++)
        if (anew)
            memcpy(a->tmp + k * dim, a->g, dim * sizeof *a->g);
        else
            rni_agent_tune_one(a, b, k, s, a->tmp + k * dim);
    rni_bank_learn_v(b, &s);
    memcpy(a->g, a->tmp + best * dim, dim * sizeof *a->g);
}

/* to g, which is then d_t: d = (1-eta) (d + v) + eta g */
static void rni_agent_mix(rn_agent *a) {
    const size_t dim = a->policy.dim;
    const rn_real share = 1 / (rn_real)a->method.batch, scale = rni_agent_v_scale(a);
    const rn_real eta = (rn_real)(a->has_d ? a->eta : 1), keep = 1 - eta;
    const rn_real memory = a->method.no_memory ? 0 : 1;
    size_t i;
    for (i = 0; i < dim; i++)
        a->g[i] = keep * (memory * a->d[i] + scale * a->v[i]) + eta * (share * a->g[i]);
}

/* Numbers that do not fit say nothing. */
static void rni_agent_learn_curvature(rn_agent *a) {
    const double uu = rni_dot(a->u, a->u, a->policy.dim), x = a->sum_cc / a->count_cc / uu;
    if (a->count_cc > 0 && aggi_within(x, 0, DBL_MAX)) a->curvature = x;
}

/* d_t, from g, v and d_{t-1}; d_n is kept from round to round */
static rn_status rni_agent_end_round(rn_agent *a) {
    const size_t dim = a->policy.dim;
    rni_bank bank = a->bank;
    if (a->method.tuned)
        rni_agent_tune(a, &bank);
    else
        rni_agent_mix(a);
    if (!aggi_all_finite(a->g, dim)) return RN_ERR_POLICY;
    if (a->method.tuned) {
        if (!rni_bank_fits(&bank) || !aggi_all_finite(a->tmp, RNI_FILTERS * dim))
            return RN_ERR_POLICY;
        a->bank = bank;
        memcpy(a->bank_d, a->tmp, RNI_FILTERS * dim * sizeof *a->tmp);
    }
    if (a->method.curvature) rni_agent_learn_curvature(a);
    memcpy(a->d, a->g, dim * sizeof *a->d);
    memcpy(a->before, a->theta, dim * sizeof *a->before);
    a->has_d = 1;
    a->last_round = a->round;
    a->last_eta = a->eta;
    RNI_UP(a->stats.rounds, uint64_t);
    a->stats.mean_return = a->sum_return / (double)a->method.batch;
    a->stats.mean_length = a->sum_length / (double)a->method.batch;
    return RN_OK;
}

/* u = theta_t - theta_{t-1}; does v count? Not if theta did not move. */
static void rni_agent_move(rn_agent *a) {
    rn_real any = 0;
    size_t i;
    for (i = 0; i < a->policy.dim; i++) {
        a->u[i] = a->theta[i] - a->before[i];
        if (a->u[i] != 0) any = 1;
    }
    a->moved = any != 0;
    a->with_v = a->moved && !a->method.no_hessian && a->eta < 1;
}

/* What stands for d_{t-1} and theta_{t-1} before the first round: 0 and theta_t, so that u = 0. */
static void rni_agent_first_round(rn_agent *a) {
    memset(a->d, 0, a->policy.dim * sizeof *a->d);
    memcpy(a->before, a->theta, a->policy.dim * sizeof *a->before);
}

/* (memcmp is not among what a host without a C library has to bring) */
static int rni_same_bits(const rn_real *x, const rn_real *y, size_t n) {
    aggi_word a, b, differ = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        differ |= a ^ b;
    }
    return !differ;
}

/* Is it the plan that d answers? */
static int rni_agent_made(const rn_agent *a, const rn_plan *plan) {
    return a->has_d && plan->round && plan->round == a->last_round &&
           aggi_bits(plan->eta) == aggi_bits(a->last_eta) &&
           rni_same_bits(plan->theta, a->before, a->policy.dim);
}

/* ||theta - theta_{t-1}|| <= reach, for each round that passed between them */
static int rni_agent_reaches(const rn_agent *a, const rn_plan *plan) {
    const size_t last = a->last_round, now = plan->round;
    const size_t apart = last && now ? (now > last ? now - last : last - now) : 1;
    double sum = 0;
    size_t i;
    if (!(a->reach > 0) || !a->has_d) return 1;
    for (i = 0; i < a->policy.dim; i++) {
        const double x = (double)plan->theta[i] - (double)a->before[i];
        sum += x * x;
    }
    return aggi_sqrt(sum) <= a->reach * (double)(apart ? apart : 1);
}

/* theta~ = theta + ((1-eta)/eta) (theta - theta_{t-1}); what does not fit is cut */
static void rni_agent_look_ahead(rn_agent *a) {
    const double steps = a->eta > 0 ? (1 - a->eta) / a->eta : 0, ahead = steps < 1e9 ? steps : 1e9;
    size_t i;
    memcpy(a->hat, a->theta, a->policy.dim * sizeof *a->hat);
    for (i = 0; i < a->policy.dim && ahead > 0; i++) {
        const double x = (double)a->theta[i], y = x + ahead * (x - (double)a->before[i]);
        a->hat[i] = (rn_real)(y > AGGI_REAL_MAX    ? AGGI_REAL_MAX
                              : y < -AGGI_REAL_MAX ? -AGGI_REAL_MAX
                                                   : y);
    }
}

/* theta_t and all that starts at 0 with it */
static void rni_agent_begin(rn_agent *a, const rn_plan *plan) {
    const size_t bytes = a->policy.dim * sizeof *plan->theta;
    memcpy(a->theta, plan->theta, bytes);
    memset(a->g, 0, bytes);
    memset(a->v, 0, bytes);
    if (!a->has_d) rni_agent_first_round(a);
    a->eta = plan->eta;
    rni_agent_move(a);
    if (a->method.lookahead) rni_agent_look_ahead(a);
    a->round = plan->round < RNI_MOST(size_t) ? plan->round : RNI_MOST(size_t);
    a->trajectory = 0;
    a->trajectories = a->method.batch * (a->with_v && !a->method.reuse ? 2 : 1);
    a->sum_return = a->sum_length = a->sum_cc = a->count_cc = 0;
    rni_baseline_begin_round(&a->baseline, &a->method);
}

RN_API rn_status rn_agent_begin_plan(rn_agent *a, const rn_plan *plan) {
    if (!a || !plan || !plan->theta) return RN_ERR_ARG;
    if (a->busy) return RN_ERR_ORDER;
    if (!aggi_within(plan->eta, a->eta_min, 1)) return RN_ERR_THETA;
    if (!aggi_all_finite(plan->theta, a->policy.dim)) return RN_ERR_THETA;
    if (!rni_agent_reaches(a, plan)) return RN_ERR_REACH;
    a->again = rni_agent_made(a, plan);
    if (!a->again) rni_agent_begin(a, plan);
    a->stage = RNI_IDLE;
    a->busy = 1;
    return RN_OK;
}

RN_API rn_status rn_agent_begin_round(rn_agent *a, const rn_real *theta, double eta) {
    rn_plan plan;
    plan.theta = theta;
    plan.eta = eta;
    plan.round = 0;
    return rn_agent_begin_plan(a, &plan);
}

/* Agents that step side by side. What each does depends on no other. */
typedef struct rni_seat {
    rn_agent *agent;
    size_t budget, used;
    rn_status status; /* RN_OK: it plays; then as rn_agent_tick() says */
    int first;        /* nothing else was done in this tick */
    int done;
} rni_seat;

static void rni_seat_leave(rni_seat *s, rn_status why) {
    s->status = why;
    s->done = 1;
}

/* One piece of the sums, if it fits the budget. If nothing was done yet it does: or a budget that
   is small would never see the end. */
static void rni_seat_sum(rni_seat *s) {
    const size_t piece = rni_agent_piece(s->agent), left = s->budget - s->used;
    if (piece > left && !(s->first && !s->used)) {
        rni_seat_leave(s, RN_MORE);
        return;
    }
    s->used += piece < left ? piece : left;
    s->status = rni_agent_sum(s->agent);
    s->done = s->status != RN_OK;
}

/* towards a trajectory that can go on: the sums of the last one, or a new one */
static void rni_seat_prepare(rni_seat *s) {
    rn_agent *a = s->agent;
    if (a->again || a->trajectory >= a->trajectories)
        s->done = 1;
    else if (s->used >= s->budget)
        rni_seat_leave(s, RN_MORE);
    else if (a->stage != RNI_IDLE)
        rni_seat_sum(s);
    else
        s->status = rni_agent_start_trajectory(a);
    s->done |= s->status != RN_OK;
}

/* before a step */
AGGI_INLINE void rni_seat_ready(rni_seat *s) {
    while (!s->done && s->agent->stage != RNI_PLAYING) rni_seat_prepare(s);
    if (!s->done && s->used >= s->budget) rni_seat_leave(s, RN_MORE);
}

AGGI_INLINE void rni_seat_act(rni_seat *s) {
    rn_agent *a = s->agent;
    const rni_play play = rni_agent_player(a);
    const rn_policy *p = &a->policy;
    s->status = rni_play_act(&play, a->obs + a->t * p->obs_dim, a->act + a->t * p->act_dim);
}

/* after the act: the environment */
AGGI_INLINE void rni_seat_move(rni_seat *s) {
    rn_agent *a = s->agent;
    const rni_play play = rni_agent_player(a);
    const rn_policy *p = &a->policy;
    const size_t t = a->t;
    int running = 1;
    if (s->status == RN_OK)
        s->status = rni_play_move(&play, a->act + t * p->act_dim, a->obs + (t + 1) * p->obs_dim,
                                  &a->reward[t], &running);
    if (s->status == RN_OK) {
        if (a->flip_reward) a->reward[t] = -a->reward[t];
        s->used++;
        RNI_UP(a->stats.steps, uint64_t);
        a->t = t + 1;
        if (!running || a->t == a->method.horizon) a->stage = RNI_ENDED;
    }
    s->done = s->status != RN_OK;
}

static void rni_seat_end(rni_seat *s) {
    rn_agent *a = s->agent;
    if (s->status == RN_MORE) return;
    a->busy = 0;
    a->stage = RNI_IDLE;
    if (s->status == RN_OK && !a->again) s->status = rni_agent_end_round(a);
}

/* acts of a team of nets; those who act at random do so alone */
static void rni_team_act(rni_seat *const *seat, size_t n) {
    const int avx2 = AGGI_HAS_AVX2;
    rni_act o[RNI_TEAM];
    size_t i, k = 0;
    for (i = 0; i < n; i++) {
        const rn_agent *a = seat[i]->agent;
        if (a->random_action || n == 1) {
            rni_seat_act(seat[i]);
            continue;
        }
        o[k].obs = a->obs + a->t * a->policy.obs_dim;
        o[k].act = a->act + a->t * a->policy.act_dim;
        o[k].rng = &a->rng;
        o[k++].w = (rni_net_work *)a->work;
    }
    if (k) AGGI_TWIN(avx2, rni_net_act_team)((const rn_net *)seat[0]->agent->policy.self, k, o);
}

/* n agents, as many as rni_policy_team() allows, to the end of their rounds or budgets */
static void rni_team_tick(rni_seat *seats, size_t n) {
    rni_seat *seat[RNI_TEAM];
    size_t i, playing;
    do {
        for (i = playing = 0; i < n; i++) {
            if (!seats[i].done) rni_seat_ready(&seats[i]);
            if (!seats[i].done) seat[playing++] = &seats[i];
        }
        rni_team_act(seat, playing);
        for (i = 0; i < playing; i++) rni_seat_move(seat[i]);
    } while (playing);
    for (i = 0; i < n; i++) rni_seat_end(&seats[i]);
}

static rni_seat rni_seat_make(rn_agent *a, size_t budget, int first) {
    rni_seat s;
    s.agent = a;
    s.budget = budget;
    s.used = 0;
    s.status = RN_OK;
    s.first = first;
    s.done = 0;
    return s;
}

RN_API rn_status rn_agent_tick(rn_agent *a, size_t budget, size_t *used) {
    rni_seat s;
    if (used) *used = 0;
    if (!a) return RN_ERR_ARG;
    if (!a->busy) return RN_ERR_ORDER;
    s = rni_seat_make(a, budget, 1);
    rni_team_tick(&s, 1);
    if (used) *used = s.used;
    return s.status;
}

RN_API rn_status rn_agent_run_plan(rn_agent *a, const rn_plan *plan) {
    const rn_status s = rn_agent_begin_plan(a, plan);
    return s == RN_OK ? rn_agent_tick(a, (size_t)-1, NULL) : s;
}

RN_API rn_status rn_agent_run_round(rn_agent *a, const rn_real *theta, double eta) {
    const rn_status s = rn_agent_begin_round(a, theta, eta);
    return s == RN_OK ? rn_agent_tick(a, (size_t)-1, NULL) : s;
}

RN_API const rn_real *rn_agent_direction(const rn_agent *a) { return a && a->has_d ? a->d : NULL; }

RN_API double rn_agent_curvature(const rn_agent *a) { return a ? a->curvature : -1; }

RN_API rn_stats rn_agent_stats(const rn_agent *a) {
    rn_stats none;
    memset(&none, 0, sizeof none);
    return a ? a->stats : none;
}

/* ---- 9 schedules and server ------------------------------------------------------------------ */

static rn_schedule rni_schedule(rn_schedule_kind kind, double value, size_t rounds) {
    rn_schedule s;
    memset(&s, 0, sizeof s);
    s.kind = kind;
    s.value = value;
    s.rounds = rounds;
    return s;
}

RN_API rn_schedule rn_schedule_constant(double value) {
    return rni_schedule(RN_SCHEDULE_CONSTANT, value, 0);
}

RN_API rn_schedule rn_schedule_linear(double value, double end, size_t rounds) {
    rn_schedule s = rni_schedule(RN_SCHEDULE_LINEAR, value, rounds);
    s.end = end;
    return s;
}

RN_API rn_schedule rn_schedule_staircase(double value, double factor, size_t rounds) {
    rn_schedule s = rni_schedule(RN_SCHEDULE_STAIRCASE, value, rounds);
    s.factor = factor;
    return s;
}

/* gamma_t = 6 G1 / (muF (t+2)) */
RN_API rn_schedule rn_theory_gamma(double G1, double muF) {
    rn_schedule s = rni_schedule(RN_SCHEDULE_INVERSE, 6 * G1 / muF, 1);
    s.shift = 2;
    return s;
}

/* eta_t = 1/t */
RN_API rn_schedule rn_theory_eta(void) { return rni_schedule(RN_SCHEDULE_INVERSE, 1, 1); }

/* H = log(T+1) / (1-discount), rounded up, 1 .. 10^9 */
RN_API size_t rn_theory_horizon(double T, double discount) {
    double h;
    if (!aggi_within(discount, 0, 1) || discount == 1 || !aggi_within(T, 0, DBL_MAX)) return 0;
    h = aggi_log(T + 1) / (1 - discount);
    if (h <= 1) return 1;
    return h >= 1e9 ? (size_t)1000000000 : (size_t)h + ((double)(size_t)h < h);
}

/* x^n by squaring: 2^60 rounds are 60 products */
static double rni_power(double x, size_t n) {
    double power = 1;
    for (; n; n /= 2, x *= x)
        if (n & 1) power *= x;
    return power;
}

RN_API double rn_schedule_value(const rn_schedule *s, size_t t) {
    const size_t rounds = s->rounds ? s->rounds : 1;
    const size_t past = t ? t - 1 : 0;
    double value = s->value;
    switch (s->kind) {
    case RN_SCHEDULE_CONSTANT: return value;
    case RN_SCHEDULE_LINEAR:
        return t > rounds ? s->end : value + (s->end - value) * ((double)past / (double)rounds);
    case RN_SCHEDULE_INVERSE: return value / ((double)(t / rounds) + s->shift);
    case RN_SCHEDULE_CALLBACK: return s->at ? s->at(s->self, t) : 0;
    case RN_SCHEDULE_STAIRCASE: return value * rni_power(s->factor, past / rounds);
    }
    return 0;
}

/* clang-format off */

/* Every schedule but a callback goes one way: its first and its last value tell all. */
static rn_status rni_schedule_range(const rn_schedule *s, double most, rni_complaint *c) {
    const double first = rn_schedule_value(s, 1), last = rn_schedule_value(s, (size_t)-1);
    const rni_check list[] = {
        {!(first > 0), RN_ERR_DESC,
         "@ is # in round 1: it is above 0 there, or nothing is ever learned", {first}},
        {!aggi_within(first, 0, most), RN_ERR_DESC,
         "@ is # in round 1: it is at most #", {first, most}},
        {!aggi_finite(first), RN_ERR_DESC, "@ is # in round 1: it is finite", {first}},
        {!aggi_within(last, 0, most), RN_ERR_DESC,
         "@ becomes #: it is 0 .. #", {last, most}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* Who lies? Each round every agent is scored in four ways, how odd its news are; in each the k
   oddest are marked. An honest agent is marked with a chance of at most p = k/(n-f), as its news
   are as good as any honest agent's, so y/p (y = 1: marked) is at most 1 on average, and so is what
   becomes of a coin that is bet on being marked. E is such a coin, in shares: one is kept, the
   others bet 1/5, 1/2 or 9/10 of themselves on one score each. After a round a part 1/(t+16) of all
   is dealt out anew, so that who begins late finds the bets in place, and E falls at most as 1/t.
   */
enum { RNI_FAR, RNI_CENTRAL, RNI_CLOSE, RNI_AGAINST, RNI_SCORES };
enum { RNI_ABSENT, RNI_PRESENT, RNI_BAD }; /* of an agent's news */

#define RNI_BETS          3
#define RNI_STAKES        (1 + RNI_BETS * RNI_SCORES)
#define RNI_EVIDENCE_MOST 1e6

typedef struct rni_watch {
    size_t k;              /* marked in each score */
    rn_real *last, *news;  /* n rows each: what was sent in the last round, and what is new */
    int *known, *state;    /* n: is last known? what are the news? */
    int *fresh;            /* n: what known will be */
    int *odd;              /* n rows of RNI_SCORES: y */
    const rn_real **row;   /* n: news that are PRESENT */
    rn_real *centre;       /* their median */
    double *score;         /* n rows of RNI_SCORES */
    double *close;         /* n: squared distance to the nearest other news */
    double *evidence;      /* n: ln E, of ... */
    double *stake;         /* ... n rows of RNI_STAKES: the shares of E */
    int stage;             /* of looking at this round's rows: see rni_watch_look(), ... */
    size_t at, other;      /* ... and how far it is */
    void *scratch;
    size_t scratch_size;
} rni_watch;
#define RNI_WINDOW ((size_t)512) /* numbers of a row in a piece: the least that agg_stages takes */
#define RNI_GLANCE ((size_t)16)  /* rows, or pairs of them, in a piece */

/* so many from `at` on */
static size_t rni_window(size_t at, size_t dim) {
    return dim - at < RNI_WINDOW ? dim - at : RNI_WINDOW;
}

/* gamma: most is infinity; eta: 1 */
static rn_status rni_schedule_check(const rn_schedule *s, const char *name, double most,
                                    rni_complaint *c) {
    const rni_check list[] = {
        {(unsigned)s->kind > RN_SCHEDULE_CALLBACK, RN_ERR_DESC,
         "@.kind is #: there are 0 .. #", {(double)s->kind, RN_SCHEDULE_CALLBACK}},
        {s->kind == RN_SCHEDULE_CALLBACK && !s->at, RN_ERR_DESC,
         "@.at is NULL, and @.kind is RN_SCHEDULE_CALLBACK", {0}},
        {!aggi_finite(s->value) || !aggi_finite(s->end), RN_ERR_DESC,
         "@.value is #, @.end is #: both are finite", {s->value, s->end}},
        {!aggi_finite(s->factor) || !aggi_finite(s->shift), RN_ERR_DESC,
         "@.factor is #, @.shift is #: both are finite", {s->factor, s->shift}},
        {s->kind == RN_SCHEDULE_STAIRCASE && (s->factor < 0 || s->factor > 1), RN_ERR_DESC,
         "@.factor is #: it is 0 .. 1", {s->factor}},
        {s->kind == RN_SCHEDULE_INVERSE && s->value < 0, RN_ERR_DESC,
         "@.value is #: it is above 0 for RN_SCHEDULE_INVERSE", {s->value}}};
    rn_status r;
    c->words.name = name;
    r = RNI_FIRST_FAILURE(list, c);
    if (r != RN_OK || s->kind == RN_SCHEDULE_CALLBACK) return r;
    return rni_schedule_range(s, most, c);
}

/* clang-format on */

struct rn_server {
    rn_server_desc desc;
    rni_watch watch;       /* its arrays are NULL without desc.watch */
    rn_random random;      /* behind agg.rng, unless that is the host's */
    size_t t;              /* the round under way, from 1 */
    double power1, power2; /* Adam: beta1^k, beta2^k after k updates */
    double squares;        /* soft: the sum of ||d||^2, of ... */
    size_t norms;          /* ... so many */
    double step;           /* kl: k_t */
    rn_real *theta, *d;    /* dim numbers each */
    rn_real *next, *new_d; /* what they will be, once all is known to be good */
    rn_real *m, *v;        /* Adam: averages of the directions and of their squares */
    double *weight, *suspicion;
    rn_real *start; /* a copy of agg.start */
    void *scratch;
    size_t scratch_size;
};

#define RNI_KL_START 0.001 /* k_0: while nothing is known, a step to feel by */
#define RNI_KL_LEAST 1e-9  /* so that doubling leads back */
#define RNI_KL_MOST  1e9

static int rni_is_adam(rn_update_kind k) {
    return k == RN_UPDATE_ADAM || k == RN_UPDATE_ADAM_NORMALISED;
}

static int rni_is_normalised(rn_update_kind k) {
    return k == RN_UPDATE_NORMALISED || k == RN_UPDATE_ADAM_NORMALISED;
}

static void rni_server_defaults(rn_server_desc *d) {
    d->agg.n = d->n;
    d->agg.dim = d->dim;
    if (aggi_is_zero(d->beta1)) d->beta1 = 0.9;
    if (aggi_is_zero(d->beta2)) d->beta2 = 0.999;
    if (aggi_is_zero(d->epsilon)) d->epsilon = 1e-8;
}

static agg_desc rni_watch_median(size_t n, size_t dim) {
    return agg_make_desc(AGG_CWMED, n, dim, 0);
}

static void rni_watch_layout(rni_watch *w, aggi_arena *a, const rn_server_desc *d) {
    const agg_desc median = rni_watch_median(d->n, rni_window(0, d->dim));
    if (!d->watch) return;
    w->k = d->agg.f ? d->agg.f : 1;
    w->last = rni_take_rows(a, d->n, d->dim);
    w->news = rni_take_rows(a, d->n, d->dim);
    w->known = (int *)aggi_take(a, d->n, sizeof *w->known);
    w->state = (int *)aggi_take(a, d->n, sizeof *w->state);
    w->fresh = (int *)aggi_take(a, d->n, sizeof *w->fresh);
    w->odd = (int *)aggi_take(a, d->n, RNI_SCORES * sizeof *w->odd);
    w->row = (const rn_real **)aggi_take(a, d->n, sizeof *w->row);
    w->centre = aggi_take_real(a, d->dim);
    w->score = aggi_take_f64(a, d->n * RNI_SCORES);
    w->close = aggi_take_f64(a, d->n);
    w->evidence = aggi_take_f64(a, d->n);
    w->stake = aggi_take_f64(a, d->n * RNI_STAKES);
    w->scratch_size = agg_scratch_size(&median);
    w->scratch = aggi_take(a, 1, w->scratch_size);
}

/* rows that are no longer those of the last round */
static void rni_watch_forget(rni_watch *w, size_t n) {
    if (w->known) memset(w->known, 0, n * sizeof *w->known);
}

static void rni_watch_init(rni_watch *w, const rn_server_desc *d) {
    size_t i;
    if (!d->watch) return;
    rni_watch_forget(w, d->n);
    memset(w->evidence, 0, d->n * sizeof *w->evidence);
    memset(w->last, 0, d->n * d->dim * sizeof *w->last);
    for (i = 0; i < d->n * RNI_STAKES; i++) w->stake[i] = 1.0 / RNI_STAKES;
}

/* what F is given; a built-in generator has no address yet, and needs none to be checked */
static agg_desc rni_server_agg(const rn_server_desc *d) {
    agg_desc agg = d->agg;
    if (!agg.rng.next) agg.rng = rn_random_rng(NULL);
    return agg;
}

/* bytes that F asks for; 0: it refuses the desc */
static size_t rni_server_scratch_size(const rn_server_desc *d) {
    const agg_desc agg = rni_server_agg(d);
    return agg_scratch_size(&agg);
}

/* clang-format off */
static rn_status rni_server_check_fields(const rn_server_desc *d, rni_complaint *c) {
    const rni_check list[] = {
        {(unsigned)d->update > RN_UPDATE_ADAM_NORMALISED, RN_ERR_DESC,
         "update is #: there are 0 .. #", {(double)d->update, RN_UPDATE_ADAM_NORMALISED}},
        {d->soft && d->update == RN_UPDATE_PLAIN, RN_ERR_DESC,
         "soft is not for RN_UPDATE_PLAIN: a plain step is short where ||d|| is by itself", {0}},
        {!aggi_within(d->kl, 0, DBL_MAX), RN_ERR_DESC,
         "kl is #: it is 0 or more, and finite", {d->kl}},
        {d->kl > 0 && d->update != RN_UPDATE_NORMALISED, RN_ERR_DESC,
         "kl is #, update is #: kl is for RN_UPDATE_NORMALISED, 0", {d->kl, (double)d->update}},
        {!aggi_within(d->beta1, 0, 1) || !aggi_within(d->beta2, 0, 1) || d->beta1 == 1 ||
         d->beta2 == 1, RN_ERR_DESC, "beta1 is #, beta2 is #: they are 0 .. 1, and not 1",
         {d->beta1, d->beta2}},
        {!aggi_is_number(d->epsilon) || d->epsilon < 0, RN_ERR_DESC,
         "epsilon is #: it is 0 or more", {d->epsilon}},
        {!aggi_is_number(d->radius) || d->radius < 0, RN_ERR_DESC,
         "radius is #: it is 0 or more", {d->radius}},
        {(unsigned)d->watch > RN_WATCH_ROWS, RN_ERR_DESC,
         "watch is #: there are 0 .. #", {(double)d->watch, RN_WATCH_ROWS}},
        {!aggi_within(d->slack, 0, 1), RN_ERR_DESC, "slack is #: it is 0 .. 1", {d->slack}},
        {d->watch && d->agg.f > (d->n - 1) / 2, RN_ERR_DESC,
         "agg.f is #: watch needs fewer adversaries than half of the # agents",
         {(double)d->agg.f, (double)d->n}},
        {!aggi_product_fits(d->n, d->dim) || !aggi_product_fits(d->dim, 16), RN_ERR_SIZE,
         "n is #, dim is #: sizes overflow", {(double)d->n, (double)d->dim}}};
    return RNI_FIRST_FAILURE(list, c);
}

static rn_status rni_server_check(const rn_server_desc *d, rni_complaint *c) {
    const rni_check first = {
        !d->n || !d->dim, RN_ERR_ARG, "n is #, dim is #: rows and parameters, neither is 0",
        {(double)d->n, (double)d->dim}};
    const rni_check theta = {1, RN_ERR_THETA, "theta has a number that is not finite", {0}};
    rn_status s;
    c->server = 1;
    s = rni_first_failure(&first, 1, c);
    if (s == RN_OK) s = rni_schedule_check(&d->gamma, "gamma", aggi_from_bits(AGGI_INF), c);
    if (s == RN_OK) s = rni_schedule_check(&d->eta, "eta", 1, c);
    if (s == RN_OK) s = rni_server_check_fields(d, c);
    if (s != RN_OK) return s;
    if (d->theta && !aggi_all_finite(d->theta, d->dim)) return rni_refuse(c, &theta);
    c->agg = !d->aggregate && !rni_server_scratch_size(d);
    c->server = c->agg;
    return c->agg ? RN_ERR_DESC : RN_OK;
}

/* clang-format on */

/* Addresses, and what d says. NULL: counted only, or too little memory. */
static rn_server *rni_server_layout(const rn_server_desc *d, aggi_arena *a) {
    rn_server *server = (rn_server *)aggi_take(a, 1, sizeof *server), g;
    memset(&g, 0, sizeof g);
    g.desc = *d;
    g.theta = aggi_take_real(a, d->dim);
    g.next = aggi_take_real(a, d->dim);
    g.d = aggi_take_real(a, d->dim);
    g.new_d = aggi_take_real(a, d->dim);
    if (rni_is_adam(d->update)) {
        g.m = aggi_take_real(a, d->dim);
        g.v = aggi_take_real(a, d->dim);
    }
    g.weight = aggi_take_f64(a, d->n);
    g.suspicion = aggi_take_f64(a, d->n);
    if (d->agg.start) g.start = aggi_take_real(a, d->dim);
    if (!d->aggregate) {
        g.scratch_size = rni_server_scratch_size(d);
        g.scratch = aggi_take(a, 1, g.scratch_size);
    }
    rni_watch_layout(&g.watch, a, d);
    if (!rni_arena_holds(a)) return NULL;
    *server = g;
    return server;
}

/* The desc's own arrays are copied and may go after this. */
static void rni_server_init(rn_server *g) {
    rn_server_desc *d = &g->desc;
    const size_t bytes = d->dim * sizeof(rn_real);
    g->random = rni_random_make(d->seed, RNI_FOR_TRAINER, 1);
    if (!d->agg.rng.next) d->agg.rng = rn_random_rng(&g->random);
    g->t = 1;
    g->power1 = g->power2 = 1;
    g->step = RNI_KL_START;
    memset(g->theta, 0, bytes);
    memset(g->d, 0, bytes);
    if (g->m) memset(g->m, 0, bytes);
    if (g->v) memset(g->v, 0, bytes);
    if (d->theta) memcpy(g->theta, d->theta, bytes);
    if (g->start) memcpy(g->start, d->agg.start, bytes);
    rni_watch_init(&g->watch, d);
    d->agg.start = g->start;
    d->agg.late = NULL; /* that is told with the rows */
    d->theta = NULL;
}

/* defaults, check, layout; *out as rni_server_layout() */
static rn_status rni_server_place(rn_server_desc d, aggi_arena *a, rn_server **out,
                                  rni_complaint *c) {
    rn_status s;
    rni_server_defaults(&d);
    s = rni_server_check(&d, c);
    if (s != RN_OK) return s;
    *out = rni_server_layout(&d, a);
    return a->bad ? RN_ERR_SIZE : RN_OK;
}

RN_API size_t rn_server_size(const rn_server_desc *d) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    rn_server *none;
    return d && rni_server_place(*d, &a, &none, &unsaid) == RN_OK ? aggi_arena_size(&a) : 0;
}

RN_API rn_status rn_server_init(rn_server **server, const rn_server_desc *d, void *memory,
                                size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rni_complaint unsaid;
    rn_server *g = NULL;
    rn_status s;
    if (!server || !d || !memory) return RN_ERR_ARG;
    s = rni_server_place(*d, &a, &g, &unsaid);
    if (s != RN_OK) return s;
    if (!g) return RN_ERR_MEMORY;
    rni_server_init(g);
    *server = g;
    return RN_OK;
}

RN_API const rn_real *rn_server_theta(const rn_server *s) { return s ? s->theta : NULL; }
RN_API const rn_real *rn_server_direction(const rn_server *s) { return s ? s->d : NULL; }
RN_API size_t rn_server_current_round(const rn_server *s) { return s ? s->t : 0; }

RN_API const double *rn_server_evidence(const rn_server *s) { return s ? s->watch.evidence : NULL; }

RN_API double rn_evidence_limit(double alpha, size_t agents) {
    const int fine = aggi_within(alpha, 0, 1) && alpha > 0;
    return fine ? aggi_log((double)(agents ? agents : 1)) - aggi_log(alpha)
                : aggi_from_bits(AGGI_INF);
}

RN_API double rn_server_eta(const rn_server *s) {
    return s ? rn_schedule_value(&s->desc.eta, s->t) : 0;
}

RN_API rn_plan rn_server_plan(const rn_server *s) {
    rn_plan plan;
    plan.theta = rn_server_theta(s);
    plan.eta = rn_server_eta(s);
    plan.round = rn_server_current_round(s);
    return plan;
}

/* Soft steps: gamma_t min(1, ||d_{t-1}||/rms of all ||d|| so far). A norm is cut where the sum of
   squares would not fit, and at 4 times the rms so far: a rule that lets one giant through must
   not make all later steps tiny. */
#define RNI_SOFT_MOST 1e140

static double rni_soft_norm(const rn_server *s) {
    const double norm = rni_norm(s->d, s->desc.dim);
    return norm < RNI_SOFT_MOST ? norm : RNI_SOFT_MOST;
}

static double rni_soft_rms(const rn_server *s) {
    return s->norms ? aggi_sqrt(s->squares / (double)s->norms) : 0;
}

static double rni_soft_factor(const rn_server *s) {
    const double norm = rni_soft_norm(s), rms = rni_soft_rms(s);
    return norm < rms ? norm / rms : 1;
}

static void rni_soft_learn(rn_server *s) {
    const double norm = rni_soft_norm(s), rms = rni_soft_rms(s);
    const double counts = rms > 0 && norm > 4 * rms ? 4 * rms : norm;
    s->squares += counts * counts;
    RNI_UP(s->norms, size_t);
}

/* A step u moves a decision by KL = F ||u||^2/2, F = E[c_t^2]/||u||^2. What agents offer for F is
   ordered as its bits are; what is no such number counts as infinite. */
static uint64_t rni_kl_bits(double F) {
    if (!aggi_within(F, 0, DBL_MAX)) return AGGI_INF;
    return aggi_is_zero(F) ? 0 : aggi_bits(F);
}

static int rni_is_late(const rn_arrivals *a, size_t i) { return a->late && a->late[i]; }

static int rni_is_stale(const rn_arrivals *a, size_t i) { return a->stale && a->stale[i]; }

static size_t rni_count_late(const rn_arrivals *a, size_t n) {
    size_t i, late = 0;
    for (i = 0; i < n; i++)
        if (rni_is_late(a, i)) late++;
    return late;
}

/* of those in time: how many numbers are at most that */
static size_t rni_kl_count(const rn_arrivals *a, size_t n, uint64_t most) {
    size_t i, count = 0;
    for (i = 0; i < n; i++)
        if (!rni_is_late(a, i) && rni_kl_bits(a->curvature[i]) <= most) count++;
    return count;
}

/* The number that has half of those in time before it, by bisection of its bits. As f is less than
   half of them, at least one honest number is not above it, and one not below. */
static double rni_kl_middle(const rn_arrivals *a, size_t n) {
    const size_t half = (n - rni_count_late(a, n)) / 2;
    uint64_t low = 0, high = AGGI_INF; /* low <= bits <= high */
    while (low < high) {               /* at most 63 times */
        const uint64_t middle = low + (high - low) / 2;
        if (rni_kl_count(a, n, middle) > half)
            high = middle;
        else
            low = middle + 1;
    }
    return aggi_from_bits(low);
}

/* k_t */
static double rni_kl_step(const rn_server *s, const rn_arrivals *a) {
    const size_t n = s->desc.n;
    const double most = 2 * s->step;
    double middle, k;
    size_t bad;
    if (!a->curvature) return s->step;
    bad = n - rni_count_late(a, n) - rni_kl_count(a, n, AGGI_INF - 1);
    middle = bad > s->desc.agg.f ? -1 : rni_kl_middle(a, n);
    if (!aggi_within(middle, 0, DBL_MAX)) return s->step;
    k = middle > 0 ? aggi_sqrt(2 * s->desc.kl / middle) : most;
    if (!(k < most)) k = most;
    return k < RNI_KL_LEAST ? RNI_KL_LEAST : k > RNI_KL_MOST ? RNI_KL_MOST : k;
}

/* s_t min(1, k/s_1) */
static double rni_kl_gamma(const rn_server *s, double k) {
    const double now = rn_schedule_value(&s->desc.gamma, s->t);
    const double first = rn_schedule_value(&s->desc.gamma, 1);
    return k < first ? now * (k / first) : now;
}

static double rni_server_gamma(const rn_server *s, double k) {
    const double gamma =
        s->desc.kl > 0 ? rni_kl_gamma(s, k) : rn_schedule_value(&s->desc.gamma, s->t);
    return s->desc.soft ? gamma * rni_soft_factor(s) : gamma;
}

RN_API double rn_server_gamma(const rn_server *s) { return s ? rni_server_gamma(s, s->step) : 0; }

/* d/||d|| = scale (lift d). lift is 1 unless ||d|| or 1/||d|| would not fit a double; without
   normalisation both are 1. ||d|| = 0: theta stays. */
typedef struct rni_unit {
    double lift, scale;
} rni_unit;

static rni_unit rni_unit_make(const rn_server *s, double norm, rn_real *tmp) {
    rni_unit u = {1, 1};
    size_t i;
    if (!rni_is_normalised(s->desc.update)) return u;
    if (norm > 0 && !(norm > 1e-290 && norm < 1e290)) {
        u.lift = aggi_from_bits((uint64_t)(norm < 1 ? 1623 : 423) << 52); /* 2^600, 2^-600 */
        for (i = 0; i < s->desc.dim; i++) tmp[i] = (rn_real)(u.lift * (double)s->new_d[i]);
        norm = rni_norm(tmp, s->desc.dim);
    }
    u.scale = norm > 0 ? 1 / norm : 0;
    return u;
}

/* Number i of d or d/||d||. For Adam cut where its square would not fit: an average that is
   infinite would end the coordinate for good, and could not be saved. */
static double rni_direction(const rn_server *s, rni_unit unit, size_t i) {
    const double x = unit.scale * (unit.lift * (double)s->new_d[i]), most = RNI_REAL_ROOT;
    if (!rni_is_adam(s->desc.update)) return x;
    return x > most ? most : x < -most ? -most : x;
}

/* m' = beta1 m + (1-beta1) x, v' = beta2 v + (1-beta2) x^2 */
typedef struct rni_adam {
    double m, v;
} rni_adam;

static rni_adam rni_adam_next(const rn_server *s, double x, size_t i) {
    const rn_server_desc *d = &s->desc;
    rni_adam a;
    a.m = d->beta1 * (double)s->m[i] + (1 - d->beta1) * x;
    a.v = d->beta2 * (double)s->v[i] + (1 - d->beta2) * x * x;
    return a;
}

/* theta_{t+1} = theta_t + gamma_t d/||d||, to next. Adam's averages stay until it is known that all
   of next is finite. */
static void rni_server_move(rn_server *s, double gamma, rni_unit unit) {
    const rn_server_desc *d = &s->desc;
    const double fix1 = 1 / (1 - s->power1 * d->beta1), fix2 = 1 / (1 - s->power2 * d->beta2);
    size_t i;
    for (i = 0; i < d->dim; i++) {
        double x = rni_direction(s, unit, i);
        if (rni_is_adam(d->update)) {
            const rni_adam a = rni_adam_next(s, x, i);
            x = a.m * fix1 / (aggi_sqrt(a.v * fix2) + d->epsilon);
        }
        s->next[i] = (rn_real)((double)s->theta[i] + gamma * x);
    }
}

static void rni_adam_move(rn_server *s, rni_unit unit) {
    size_t i;
    for (i = 0; i < s->desc.dim; i++) {
        const rni_adam a = rni_adam_next(s, rni_direction(s, unit, i), i);
        s->m[i] = (rn_real)a.m;
        s->v[i] = (rn_real)a.v;
    }
    s->power1 *= s->desc.beta1;
    s->power2 *= s->desc.beta2;
}

/* to the nearest point with ||x|| <= radius */
static void rni_project(rn_real *x, size_t n, double radius) {
    const double norm = radius > 0 ? rni_norm(x, n) : 0;
    size_t i;
    if (!(norm > radius)) return;
    for (i = 0; i < n; i++) x[i] = (rn_real)((double)x[i] * (radius / norm));
}

static size_t rni_count_bad(const rn_arrivals *a, size_t n, size_t dim) {
    size_t i, bad = 0;
    for (i = 0; i < n; i++)
        if (!rni_is_late(a, i)) bad += !a->rows[i] || !aggi_all_finite(a->rows[i], dim);
    return bad;
}

/* who was dropped, as the rule says, or was to be if it refused */
static void rni_count_dropped(const rn_server *s, const rn_arrivals *a, const agg_report *report,
                              rn_progress *p) {
    if (p->aggregate == AGG_OK || p->aggregate == AGG_INEXACT)
        p->dropped = report->dropped;
    else
        p->dropped = rni_count_bad(a, s->desc.n, s->desc.dim);
}

/* d = F(d_1 .. d_N), to new_d; weights and suspicion, which take longer, only if they are read */
static void rni_server_aggregate(rn_server *s, const rn_arrivals *a, rn_progress *p, int is_read) {
    const rn_server_desc *d = &s->desc;
    agg_desc agg = d->agg;
    agg_report report;
    if (d->aggregate) {
        p->dropped = rni_count_bad(a, d->n, d->dim);
        p->aggregate = d->aggregate(d->aggregate_self, a->rows, d->n, d->dim, s->new_d);
        return;
    }
    agg.late = a->late;
    memset(&report, 0, sizeof report);
    if (is_read) {
        p->weight = report.weight = s->weight;
        p->suspicion = report.suspicion = s->suspicion;
        memset(s->weight, 0, d->n * sizeof(double));
        memset(s->suspicion, 0, d->n * sizeof(double));
    }
    p->aggregate = agg_aggregate(&agg, a->rows, s->new_d, s->scratch, s->scratch_size, &report);
    rni_count_dropped(s, a, &report, p);
}

/* r = x_t - (1-eta_t) x_{t-1}: what is new in a row of which the rest is memory. A row that is not
   finite is bad whether or not its last one is known. */
static int rni_watch_news(rn_server *s, const rn_real *x, size_t i) {
    const size_t dim = s->desc.dim;
    const double eta = rn_server_eta(s), keep = s->desc.watch == RN_WATCH_NEWS ? 1 - eta : 0;
    const rn_real *last = s->watch.last + i * dim;
    rn_real *news = s->watch.news + i * dim;
    size_t j;
    if (!x) return RNI_ABSENT;
    if (!aggi_all_finite(x, dim)) return RNI_BAD;
    if (!s->watch.known[i]) return RNI_ABSENT;
    for (j = 0; j < dim; j++) news[j] = (rn_real)((double)x[j] - keep * (double)last[j]);
    return aggi_all_finite(news, dim) ? RNI_PRESENT : RNI_BAD;
}

/* ||x - y||^2, in 4 lanes of double; what is beyond a double is infinite */
static double rni_gap(const rn_real *x, const rn_real *y, size_t n) {
    double lane[4] = {0, 0, 0, 0};
    size_t i, l;
    for (i = 0; i + 4 <= n; i += 4)
        for (l = 0; l < 4; l++) {
            const double gap = (double)x[i + l] - (double)y[i + l];
            lane[l] += gap * gap;
        }
    for (; i < n; i++) {
        const double gap = (double)x[i] - (double)y[i];
        lane[0] += gap * gap;
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* Who is late, or whose row is of an earlier round, has no news. */
static const rn_real *rni_watch_row(const rn_arrivals *a, size_t i) {
    return rni_is_late(a, i) || rni_is_stale(a, i) ? NULL : a->rows[i];
}

/* The functions from here on do a piece each, from w->at on, and return whether it was the last. */

static int rni_watch_see_news(rn_server *s, const rn_arrivals *a) {
    rni_watch *w = &s->watch;
    size_t left;
    for (left = RNI_GLANCE; left && w->at < s->desc.n; left--, w->at++) {
        const rn_real *x = rni_watch_row(a, w->at);
        w->state[w->at] = rni_watch_news(s, x, w->at);
        w->fresh[w->at] = x && aggi_all_finite(x, s->desc.dim);
        w->close[w->at] = aggi_from_bits(AGGI_INF);
    }
    return w->at == s->desc.n;
}

/* the median of the news, coordinate by coordinate */
static int rni_watch_see_centre(rn_server *s, const rn_arrivals *a) {
    rni_watch *w = &s->watch;
    const size_t dim = s->desc.dim, width = rni_window(w->at, dim);
    size_t i, rows = 0;
    agg_desc d;
    (void)a;
    for (i = 0; i < s->desc.n; i++)
        if (w->state[i] == RNI_PRESENT) w->row[rows++] = w->news + i * dim + w->at;
    d = rni_watch_median(rows, width);
    memset(w->centre + w->at, 0, width * sizeof *w->centre);
    (void)agg_aggregate(&d, w->row, w->centre + w->at, w->scratch, w->scratch_size, NULL);
    w->at += width;
    return w->at == dim;
}

/* pairs (w->at, w->other), the other being lower */
static int rni_watch_see_pairs(rn_server *s, const rn_arrivals *a) {
    rni_watch *w = &s->watch;
    const size_t n = s->desc.n, dim = s->desc.dim;
    size_t left = RNI_GLANCE;
    (void)a;
    while (left && w->at < n) {
        const size_t i = w->at, j = w->other;
        double gap;
        if (w->state[i] != RNI_PRESENT || i == j) {
            w->at++;
            w->other = 0;
            continue;
        }
        w->other++;
        if (w->state[j] != RNI_PRESENT) continue;
        gap = rni_gap(w->news + i * dim, w->news + j * dim, dim);
        if (gap < w->close[i]) w->close[i] = gap;
        if (gap < w->close[j]) w->close[j] = gap;
        left--;
    }
    return w->at == n;
}

/* How odd are the news of agent i? The larger the odder. */
static void rni_watch_score(rn_server *s, size_t i) {
    rni_watch *w = &s->watch;
    const size_t dim = s->desc.dim;
    const rn_real *news = w->news + i * dim;
    const int present = w->state[i] == RNI_PRESENT;
    double *score = w->score + i * RNI_SCORES;
    int k;
    score[RNI_FAR] = present ? rni_gap(news, w->centre, dim) : 0;
    score[RNI_CENTRAL] = -score[RNI_FAR];
    score[RNI_CLOSE] = -w->close[i];
    score[RNI_AGAINST] = present ? -rni_dot(news, s->d, dim) : 0;
    for (k = 0; k < RNI_SCORES; k++)
        if (!present || !aggi_is_number(score[k])) score[k] = aggi_from_bits(AGGI_INF);
}

static int rni_watch_see_scores(rn_server *s, const rn_arrivals *a) {
    size_t left;
    (void)a;
    for (left = RNI_GLANCE; left && s->watch.at < s->desc.n; left--, s->watch.at++)
        rni_watch_score(s, s->watch.at);
    return s->watch.at == s->desc.n;
}

/* Are fewer than k others as odd as agent i? Equals are all marked or all not, so that at most k
   are. */
static int rni_watch_is_odd(const rni_watch *w, size_t n, size_t i, size_t score) {
    const double mine = w->score[i * RNI_SCORES + score];
    size_t j, others = 0;
    for (j = 0; j < n; j++)
        others += j != i && w->state[j] != RNI_ABSENT && w->score[j * RNI_SCORES + score] >= mine;
    return w->state[i] == RNI_BAD || others < w->k;
}

/* The marks. The news are not needed any more: in their place comes what is the last row then. */
static int rni_watch_see_odd(rn_server *s, const rn_arrivals *a) {
    rni_watch *w = &s->watch;
    const size_t n = s->desc.n, dim = s->desc.dim;
    size_t left, k;
    for (left = RNI_GLANCE; left && w->at < n; left--, w->at++) {
        const size_t i = w->at;
        for (k = 0; k < RNI_SCORES; k++) w->odd[i * RNI_SCORES + k] = rni_watch_is_odd(w, n, i, k);
        memcpy(w->news + i * dim, w->fresh[i] ? rni_watch_row(a, i) : w->last + i * dim,
               dim * sizeof *w->news);
    }
    return w->at == n;
}

/* A piece of looking at the rows; returns whether there are no more. It changes nothing but what is
   made anew in each round, so that it may be broken off: rni_watch_learn() is the rest. */
static int rni_watch_look(rn_server *s, const rn_arrivals *a) {
    static int (*const see[])(rn_server *, const rn_arrivals *) = {
        rni_watch_see_news, rni_watch_see_centre, rni_watch_see_pairs, rni_watch_see_scores,
        rni_watch_see_odd};
    const int stages = (int)(sizeof see / sizeof *see);
    rni_watch *w = &s->watch;
    if (w->stage == stages) return 1;
    if (see[w->stage](s, a)) {
        w->stage++;
        w->at = w->other = 0;
    }
    return w->stage == stages;
}

static void rni_watch_look_anew(rni_watch *w) {
    w->stage = 0;
    w->at = w->other = 0;
}

/* one round of the coin: what is bet is multiplied by y/p */
static void rni_watch_bet(const int *odd, double p, double anew, double *stake, double *evidence) {
    static const double bet[RNI_BETS] = {0.2, 0.5, 0.9};
    double sum = stake[0];
    size_t j;
    for (j = 1; j < RNI_STAKES; j++) {
        const double gain = odd[(j - 1) / RNI_BETS] ? 1 / p : 0, part = bet[(j - 1) % RNI_BETS];
        stake[j] *= 1 - part + part * gain;
        sum += stake[j];
    }
    for (j = 0; j < RNI_STAKES; j++) stake[j] = (1 - anew) * (stake[j] / sum) + anew / RNI_STAKES;
    *evidence += aggi_log(sum);
    if (*evidence > RNI_EVIDENCE_MOST) *evidence = RNI_EVIDENCE_MOST;
    if (*evidence < -RNI_EVIDENCE_MOST) *evidence = -RNI_EVIDENCE_MOST;
}

/* The rows become the last ones. */
static void rni_watch_keep(rni_watch *w, size_t n) {
    rn_real *rows = w->news;
    w->news = w->last;
    w->last = rows;
    memcpy(w->known, w->fresh, n * sizeof *w->known);
}

/* Among count agents are at least count-f honest ones. If that says nothing, nothing is bet. */
static void rni_watch_learn(rn_server *s, const rn_arrivals *a) {
    rni_watch *w = &s->watch;
    double honest, p;
    size_t i, count = 0;
    if (!s->desc.watch) return;
    while (!rni_watch_look(s, a)) continue;
    rni_watch_keep(w, s->desc.n);
    for (i = 0; i < s->desc.n; i++) count += w->state[i] != RNI_ABSENT;
    honest = (double)count - (double)s->desc.agg.f;
    p = (1 + s->desc.slack) * (double)w->k / honest;
    if (!(honest > 0 && p < 1)) return;
    for (i = 0; i < s->desc.n; i++)
        if (w->state[i] != RNI_ABSENT)
            rni_watch_bet(w->odd + i * RNI_SCORES, p, 1 / ((double)s->t + 16),
                          w->stake + i * RNI_STAKES, &w->evidence[i]);
}

/* An update is begun, aggregated and ended; only its end changes what the server has. This is what
   is known before a row is looked at; step: k_t, if it is made. */
static rn_status rni_update_begin(rn_server *s, const rn_arrivals *a, rn_progress *p,
                                  double *step) {
    memset(p, 0, sizeof *p);
    rni_watch_look_anew(&s->watch);
    p->still = 1;
    *step = s->desc.kl > 0 ? rni_kl_step(s, a) : s->step;
    p->round = s->t;
    p->n = s->desc.n;
    p->dim = s->desc.dim;
    p->theta = s->theta;
    p->gamma = rni_server_gamma(s, *step);
    p->eta = rn_server_eta(s);
    p->cosine = -2;
    p->evidence = s->watch.evidence;
    p->late = rni_count_late(a, s->desc.n);
    return aggi_finite(p->gamma) && p->gamma >= 0 && aggi_within(p->eta, 0, 1) ? RN_OK
                                                                               : RN_ERR_THETA;
}

/* theta_{t+1} from new_d, or an error and nothing changed. Copied, not swapped: hosts keep the
   pointers. */
static rn_status rni_update_end(rn_server *s, const rn_arrivals *a, rn_progress *p, double step) {
    const size_t dim = s->desc.dim;
    rni_unit unit;
    if (p->aggregate != AGG_OK && p->aggregate != AGG_INEXACT) return RN_ERR_AGGREGATE;
    if (!aggi_all_finite(s->new_d, dim)) return RN_ERR_AGGREGATE;
    p->norm = rni_norm(s->new_d, dim);
    unit = rni_unit_make(s, p->norm, s->next);
    rni_server_move(s, p->gamma, unit);
    rni_project(s->next, dim, s->desc.radius);
    if (!aggi_all_finite(s->next, dim)) return RN_ERR_THETA;
    if (rni_is_adam(s->desc.update)) rni_adam_move(s, unit);
    rni_watch_learn(s, a);
    p->still = rni_same_bits(s->theta, s->next, dim);
    memcpy(s->d, s->new_d, dim * sizeof *s->d);
    memcpy(s->theta, s->next, dim * sizeof *s->theta);
    if (s->desc.soft) rni_soft_learn(s);
    s->step = step;
    RNI_UP(s->t, size_t);
    return RN_OK;
}

RN_API rn_status rn_server_update_from(rn_server *s, const rn_arrivals *arrivals,
                                       rn_progress *progress) {
    rn_progress p;
    double step;
    if (!s || !arrivals || !arrivals->rows) return RN_ERR_ARG;
    p.status = rni_update_begin(s, arrivals, &p, &step);
    if (p.status == RN_OK) {
        rni_server_aggregate(s, arrivals, &p, progress != NULL);
        p.status = rni_update_end(s, arrivals, &p, step);
    }
    if (progress) *progress = p;
    return p.status;
}

static rn_arrivals rni_arrivals(const rn_real *const *rows, const double *curvature) {
    rn_arrivals a;
    a.rows = rows;
    a.curvature = curvature;
    a.late = a.stale = NULL;
    return a;
}

RN_API rn_status rn_server_update_with(rn_server *s, const rn_real *const *rows,
                                       const double *curvature, rn_progress *progress) {
    const rn_arrivals a = rni_arrivals(rows, curvature);
    return rn_server_update_from(s, &a, progress);
}

RN_API rn_status rn_server_update(rn_server *s, const rn_real *const *rows, rn_progress *progress) {
    return rn_server_update_with(s, rows, NULL, progress);
}

RN_API void rn_server_skip_round(rn_server *s) {
    if (!s) return;
    rni_watch_forget(&s->watch, s->desc.n);
    RNI_UP(s->t, size_t);
}

/* ---- 10 trainer ------------------------------------------------------------------------------ */

/* The end of a round is made of pieces, so that a tick need not bear it all. */
enum {
    RNI_END_ROWS,
    RNI_END_ATTACKS,
    RNI_END_AGGREGATE,
    RNI_END_COSINE,
    RNI_END_WATCH,
    RNI_END_UPDATE
};

typedef struct rni_end {
    int next;               /* piece */
    int divided;            /* the pieces may be in different ticks */
    int hurry;              /* they may not: see rni_end_forget() */
    rn_status status;       /* so far */
    rn_progress p;          /* of the update under way */
    double step;            /* see rni_update_begin() */
    agg_stages *stages;     /* the aggregation; NULL: in one piece */
    size_t part, at;        /* where it goes on */
    agg_report report;      /* of 2 n numbers: the server's are still the last round's */
    unsigned char *missing; /* n: no row */
    const rn_real **here;   /* n: rows from there on */
    void *memory;           /* of the stages; NULL: there are none */
    size_t memory_size;
    rn_random random;   /* the attacks' as it was before they drew from it */
    double dot, dd, ss; /* sums of the cosine */
} rni_end;

struct rn_trainer {
    rn_trainer_desc desc;
    rn_server *server;
    rn_agent **agents;
    rn_attack *attacks;     /* one per agent */
    rn_status *status;      /* of each agent's round; RN_MORE while it plays */
    size_t *share, *used;   /* what each agent may do of this tick's budget, and did */
    double eta;             /* of this round */
    int first;              /* nothing was done in this tick yet */
    const rn_real **rows;   /* what goes to the server: one per agent, NULL: nothing */
    const rn_real **honest; /* those of them that are true, ... */
    size_t honest_rows;     /* ... so many */
    size_t adversaries;     /* how many are none of these by trade */
    double *curvature;      /* what goes beside the rows */
    rn_real *sent;          /* agents rows: what adversaries send */
    const rn_real **known;  /* the rows that one of them builds on */
    size_t *head, *maker;   /* the first with the same attack; who of them makes this round's row */
    agg_desc rule;          /* the server's, with dice of the attacks' */
    rn_real *step;          /* theta_t - theta_{t-1} ... */
    unsigned char *memory;  /* ... and what attacks remember, memory_size bytes for each agent; */
    void *attack_scratch;   /* all NULL unless a desc's attack asks for them */
    size_t memory_size, attack_scratch_size;
    rn_random random; /* for attacks */
    rni_end end;
    rn_progress progress;
    size_t rounds;
    int busy;
    void *scratch; /* evaluation */
    size_t scratch_size;
    void *block; /* of malloc */
};

RN_API rn_trainer_desc rn_make_trainer_desc(size_t agents, size_t f, const rn_env *envs,
                                            rn_policy policy) {
    rn_trainer_desc d;
    memset(&d, 0, sizeof d);
    d.agents = agents;
    d.envs = envs;
    d.policy = policy;
    d.method.horizon = 500;
    d.method.batch = 8;
    d.method.discount = 0.995;
    d.method.flat = 1;
    d.method.reuse = 1;
    d.method.baseline = RN_BASELINE_RIDGE;
    d.method.causal = 1;
    d.method.clip = 0.25;
    d.server.agg = agg_make_desc(AGG_CWTM, agents, policy.dim, f);
    d.server.eta = rn_schedule_constant(0.3);
    d.server.gamma = rn_schedule_linear(0.16, 0.004, 100); /* not 0: a game has no last round */
    d.server.soft = 1;
    d.server.slack = 0.1;
    return d;
}

RN_API rn_trainer_desc rn_make_tuned_trainer_desc(size_t agents, size_t f, const rn_env *envs,
                                                  rn_policy policy, size_t rounds) {
    rn_trainer_desc d = rn_make_trainer_desc(agents, f, envs, policy);
    d.method.tuned = 1;
    d.method.batch = 2;
    d.method.discount = 0.99;
    d.method.clip = 0;
    d.server.agg.rule = AGG_MDA;
    d.server.agg.pre[0] = AGG_PRE_NNM;
    d.server.kl = 0.002;
    d.server.gamma = rn_schedule_linear(1, 0.025, rounds ? rounds : 500);
    return d;
}

static rn_attack rni_no_attack(void) {
    rn_attack none;
    memset(&none, 0, sizeof none);
    none.kind = RN_ATTACK_NONE;
    return none;
}

static rn_attack rni_attack_of(const rn_trainer_desc *d, size_t i) {
    if (d->attacks) return d->attacks[i];
    return i + d->adversaries >= d->agents ? d->attack : rni_no_attack();
}

/* kinds that ask how the rule would answer, and kinds that look at theta's last step */
static int rni_attack_tries_rule(const rn_attack *a) {
    switch (a->vector.kind) {
    case AGG_ATTACK_LINE_SEARCH:
    case AGG_ATTACK_OPT_COS:
    case AGG_ATTACK_NORMALISED:
    case AGG_ATTACK_WORST: return a->kind == RN_ATTACK_VECTOR && !a->make;
    default: return 0;
    }
}

static int rni_attack_wants_step(const rn_attack *a) {
    const agg_attack_kind kind = a->vector.kind;
    if (a->kind != RN_ATTACK_VECTOR) return 0;
    return a->make || kind == AGG_ATTACK_BLIND_IPM || kind == AGG_ATTACK_WORST;
}

/* clang-format off */
static rn_status rni_attack_check(const rn_attack *a, const rn_trainer_desc *d, size_t honest,
                                  rni_complaint *c) {
    const int vector = a->kind == RN_ATTACK_VECTOR, poison = a->kind == RN_ATTACK_REWARD_POISON;
    const int named = vector && !a->make; /* what agg_attack() would refuse in every round */
    const rni_check list[] = {
        {(unsigned)a->kind > RN_ATTACK_REWARD_POISON, RN_ERR_DESC,
         "attack.kind is #: there are 0 .. #", {(double)a->kind, RN_ATTACK_REWARD_POISON}},
        {(unsigned)a->knows > RN_KNOWS_OWN, RN_ERR_DESC,
         "attack.knows is #: there are 0 .. #", {(double)a->knows, RN_KNOWS_OWN}},
        {vector && (unsigned)a->vector.kind >= AGG_ATTACK_COUNT, RN_ERR_DESC,
         "attack.vector.kind is #: there are 0 .. #",
         {(double)a->vector.kind, AGG_ATTACK_COUNT - 1}},
        {named && !aggi_finite(a->vector.strength), RN_ERR_DESC,
         "attack.vector.strength is #: it is finite", {a->vector.strength}},
        {named && (unsigned)a->vector.direction >= AGG_DIRECTION_COUNT, RN_ERR_DESC,
         "attack.vector.direction is #: there are 0 .. #",
         {(double)a->vector.direction, AGG_DIRECTION_COUNT - 1}},
        {named && a->vector.kind == AGG_ATTACK_MIMIC && a->vector.target >= honest, RN_ERR_DESC,
         "attack.vector.target is #: at most # agents are honest",
         {(double)a->vector.target, (double)honest}},
        {(a->wait || a->ramp) && !vector && !poison, RN_ERR_DESC,
         "attack.wait is #, attack.ramp is #: they are for vectors and poisoned rewards",
         {(double)a->wait, (double)a->ramp}},
        {poison && !aggi_within(a->vector.strength, 0, DBL_MAX), RN_ERR_DESC,
         "attack.vector.strength is #: of a poison it is 0 or more, and finite",
         {a->vector.strength}},
        {d->server.aggregate && !a->vector.rule && rni_attack_tries_rule(a), RN_ERR_DESC,
         "attack.vector.rule is NULL: this attack tries the rule, and server.aggregate is yours",
         {0}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* clang-format on */

/* eps in round t, from 1: a share of it while it grows */
static double rni_attack_share(const rn_attack *a, size_t t) {
    if (t <= a->wait) return 0;
    return t - a->wait >= a->ramp ? 1 : (double)(t - a->wait) / (double)a->ramp;
}

static double rni_attack_poison(const rn_attack *a, size_t t) {
    const double eps = aggi_is_zero(a->vector.strength) ? 1 : a->vector.strength;
    return a->kind == RN_ATTACK_REWARD_POISON ? eps * rni_attack_share(a, t) : 0;
}

/* What an attack asks for. */
typedef struct rni_need {
    size_t scratch, memory;
    int step;
} rni_need;

/* the rule as an attack may try it */
static agg_desc rni_trainer_rule(const rn_trainer_desc *d, rn_random *dice) {
    agg_desc rule = d->server.agg;
    rule.n = d->agents;
    rule.dim = d->policy.dim;
    rule.rng = rn_random_rng(dice);
    return rule;
}

/* As many rows as there can be: one adversary among all. */
static rni_need rni_attack_need(const rn_attack *a, const rn_trainer_desc *d) {
    const agg_desc rule = rni_trainer_rule(d, NULL);
    agg_attack_desc v = a->vector;
    rni_need need;
    memset(&need, 0, sizeof need);
    need.step = rni_attack_wants_step(a);
    if (a->kind != RN_ATTACK_VECTOR || a->make) return need;
    if (!v.n) v.n = rule.n;
    if (!v.f) v.f = 1;
    if (!v.rule && !d->server.aggregate) v.rule = &rule;
    if (!v.rng.next) v.rng = rule.rng;
    need.scratch = v.scratch ? 0 : agg_attack_scratch_size(&v, rule.n, rule.dim);
    need.memory = v.memory ? 0 : agg_attack_memory_size(&v, rule.dim);
    return need;
}

static void rni_need_also(rni_need *most, rni_need more) {
    if (more.scratch > most->scratch) most->scratch = more.scratch;
    if (more.memory > most->memory) most->memory = more.memory;
    if (more.step) most->step = 1;
}

/* The descs of the parts. Defaults are theirs: the trainer has none of its own. */

static rn_server_desc rni_trainer_server_desc(const rn_trainer_desc *d) {
    rn_server_desc s = d->server;
    s.n = d->agents;
    s.dim = d->policy.dim;
    s.seed = d->seed;
    return s;
}

static void rni_trainer_layout_attacks(rn_trainer *g, aggi_arena *a) {
    const rn_trainer_desc *d = &g->desc;
    rni_need most = rni_attack_need(&d->attack, d);
    size_t i;
    for (i = 0; i < d->agents && d->attacks; i++)
        rni_need_also(&most, rni_attack_need(&d->attacks[i], d));
    g->attack_scratch_size = most.scratch;
    g->memory_size = most.memory;
    if (most.scratch) g->attack_scratch = aggi_take(a, 1, most.scratch);
    if (most.memory) g->memory = (unsigned char *)aggi_take(a, d->agents, most.memory);
    if (most.step) g->step = aggi_take_real(a, d->policy.dim);
}

static rn_agent_desc rni_trainer_agent_desc(const rn_trainer_desc *d, size_t i,
                                            rn_attack_kind attack) {
    rn_agent_desc a;
    memset(&a, 0, sizeof a);
    a.env = d->make_env ? d->make_env(d->make_env_self, i) : d->envs[i];
    a.policy = d->policy;
    a.method = d->method;
    if (d->server.kl > 0) a.method.curvature = 1;
    a.seed = d->seed;
    a.stream = (uint32_t)i;
    if (d->rngs) a.rng = d->rngs[i];
    a.random_action = attack == RN_ATTACK_RANDOM_ACTION;
    a.flip_reward = attack == RN_ATTACK_REWARD_FLIP;
    return a;
}

/* clang-format off */

/* what is not the parts' */
static rn_status rni_trainer_check(const rn_trainer_desc *d, rni_complaint *c) {
    const double agents = (double)d->agents;
    const rni_check list[] = {
        {!d->agents, RN_ERR_ARG, "agents is 0: there is one at least", {0}},
        {!d->envs && !d->make_env, RN_ERR_ARG, "envs and make_env are both NULL", {0}},
        {!d->policy.dim, RN_ERR_ARG, "policy.dim is 0: see rn_net_explain()", {0}},
        {d->agents > 0xffffffffu || !aggi_product_fits(d->agents, 64) ||
         !aggi_product_fits(d->agents, d->policy.dim), RN_ERR_SIZE,
         "agents is #, policy.dim is #: sizes overflow", {agents, (double)d->policy.dim}},
        {d->adversaries > d->agents, RN_ERR_DESC, "adversaries is #: there are # agents",
         {(double)d->adversaries, agents}}};
    const rn_status s = RNI_FIRST_FAILURE(list, c);
    return s == RN_OK ? rni_method_check(&d->method, c) : s;
}

/* clang-format on */

static void rni_trainer_layout_arrays(rn_trainer *g, aggi_arena *a) {
    const size_t n = g->desc.agents;
    g->agents = (rn_agent **)aggi_take(a, n, sizeof *g->agents);
    g->attacks = (rn_attack *)aggi_take(a, n, sizeof *g->attacks);
    g->status = (rn_status *)aggi_take(a, n, sizeof *g->status);
    g->share = aggi_take_size(a, n);
    g->used = aggi_take_size(a, n);
    g->rows = (const rn_real **)aggi_take(a, n, sizeof *g->rows);
    g->honest = (const rn_real **)aggi_take(a, n, sizeof *g->honest);
    g->known = (const rn_real **)aggi_take(a, n, sizeof *g->known);
    g->head = aggi_take_size(a, n);
    g->maker = aggi_take_size(a, n);
    g->curvature = aggi_take_f64(a, n);
    g->sent = aggi_take_real(a, n * g->desc.policy.dim);
}

/* Bytes for aggregating in pieces; 0: it is one, as an aggregation of the host's is, or one that
   draws random numbers, which a trainer that is saved could not draw again. */
static size_t rni_end_memory_size(const rn_trainer_desc *d) {
    rn_server_desc s = rni_trainer_server_desc(d);
    agg_desc agg;
    rni_server_defaults(&s);
    agg = rni_server_agg(&s);
    if (s.aggregate || agg.pre[0] == AGG_PRE_BUCKETING || agg.pre[1] == AGG_PRE_BUCKETING) return 0;
    return agg_stages_size(&agg, RNI_WINDOW);
}

static void rni_trainer_layout_end(rn_trainer *g, aggi_arena *a) {
    const size_t n = g->desc.agents;
    rni_end *e = &g->end;
    e->memory_size = rni_end_memory_size(&g->desc);
    if (!e->memory_size) return;
    e->memory = aggi_take(a, 1, e->memory_size);
    e->report.weight = aggi_take_f64(a, n);
    e->report.suspicion = aggi_take_f64(a, n);
    e->here = (const rn_real **)aggi_take(a, n, sizeof *e->here);
    e->missing = (unsigned char *)aggi_take(a, n, 1);
}

/* at most: a list of attacks may be changed, agent by agent, before the first round */
static size_t rni_most_honest(const rn_trainer_desc *d) {
    return d->attacks ? d->agents : d->agents - d->adversaries;
}

/* Asks for the environment of agent i once: what is checked is what is kept. The first one tells
   how much an evaluation takes. */
static rn_status rni_trainer_layout_agent(rn_trainer *g, aggi_arena *a, size_t i,
                                          rni_complaint *c) {
    const rn_attack attack = rni_attack_of(&g->desc, i);
    const rn_agent_desc d = rni_trainer_agent_desc(&g->desc, i, attack.kind);
    rn_agent *agent = NULL;
    rn_status s;
    c->agent = i + 1;
    s = rni_attack_check(&attack, &g->desc, rni_most_honest(&g->desc), c);
    if (i == 0) {
        g->scratch_size = rn_evaluate_scratch_size(&d.env, &d.policy);
        g->scratch = aggi_take(a, 1, g->scratch_size);
    }
    if (s == RN_OK) s = rni_agent_place(d, a, &agent, c);
    if (!agent) return s;
    g->agents[i] = agent;
    g->attacks[i] = attack;
    return s;
}

/* Addresses of all there is: its own arrays, the server, the agents. *out NULL: counted only, or
   too little memory. */
static rn_status rni_trainer_layout(const rn_trainer_desc *d, aggi_arena *a, rn_trainer **out,
                                    rni_complaint *c) {
    rn_trainer *trainer = (rn_trainer *)aggi_take(a, 1, sizeof *trainer), g;
    rn_status s;
    size_t i;
    memset(&g, 0, sizeof g);
    g.desc = *d;
    rni_trainer_layout_arrays(&g, a);
    rni_trainer_layout_attacks(&g, a);
    s = rni_server_place(rni_trainer_server_desc(d), a, &g.server, c);
    if (s == RN_OK) rni_trainer_layout_end(&g, a);
    for (i = 0; i < d->agents && s == RN_OK; i++) s = rni_trainer_layout_agent(&g, a, i, c);
    *out = s == RN_OK && rni_arena_holds(a) ? trainer : NULL;
    if (*out) **out = g;
    return s;
}

static rn_status rni_trainer_place(const rn_trainer_desc *d, aggi_arena *a, rn_trainer **out,
                                   rni_complaint *c) {
    const rn_status s = rni_trainer_check(d, c);
    return s == RN_OK ? rni_trainer_layout(d, a, out, c) : s;
}

/* theta where policy.init says */
static rn_status rni_init_theta(const rn_policy *p, uint64_t seed, rn_server *server) {
    rn_random start = rni_random_make(seed, RNI_FOR_TRAINER, 0);
    const agg_rng rng = rn_random_rng(&start);
    if (!p->init) return RN_OK;
    p->init(p->self, &rng, server->theta);
    return aggi_all_finite(server->theta, p->dim) ? RN_OK : RN_ERR_POLICY;
}

/* The desc's arrays are copied by then, and may go after this. */
static rn_status rni_trainer_init(rn_trainer *g) {
    rn_trainer_desc *d = &g->desc;
    rn_status s = RN_OK;
    size_t i;
    rni_server_init(g->server);
    for (i = 0; i < d->agents; i++) {
        rni_agent_init(g->agents[i]);
        g->status[i] = RN_OK;
    }
    g->random = rni_random_make(d->seed, RNI_FOR_TRAINER, 2);
    g->rule = rni_trainer_rule(d, &g->random);
    g->rule.start = g->server->start;
    if (g->step) memset(g->step, 0, d->policy.dim * sizeof *g->step);
    if (g->memory) memset(g->memory, 0, d->agents * g->memory_size);
    if (!d->server.theta) s = rni_init_theta(&d->policy, d->seed, g->server);
    d->envs = NULL;
    d->attacks = NULL;
    d->rngs = NULL;
    d->server.theta = NULL;
    return s;
}

/* The parts are written where they belong as they are laid out, so a block that is too small must
   be found out before: a trainer is laid out twice, to count and for real. */
static rn_status rni_trainer_count(const rn_trainer_desc *d, size_t *size) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    rn_trainer *none;
    const rn_status s = rni_trainer_place(d, &a, &none, &unsaid);
    *size = s == RN_OK ? aggi_arena_size(&a) : 0;
    return s;
}

/* RN_ERR_MEMORY: callbacks gave other sizes when it was counted */
static rn_status rni_trainer_make(rn_trainer **trainer, const rn_trainer_desc *d, void *memory,
                                  size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rni_complaint unsaid;
    rn_trainer *g = NULL;
    rn_status s = rni_trainer_place(d, &a, &g, &unsaid);
    if (s == RN_OK) s = g ? rni_trainer_init(g) : RN_ERR_MEMORY;
    if (s == RN_OK) *trainer = g;
    return s;
}

RN_API size_t rn_trainer_size(const rn_trainer_desc *d) {
    size_t size = 0;
    if (d) (void)rni_trainer_count(d, &size);
    return size;
}

RN_API rn_status rn_trainer_init(rn_trainer **trainer, const rn_trainer_desc *d, void *memory,
                                 size_t size) {
    size_t least;
    rn_status s;
    if (!trainer || !d || !memory) return RN_ERR_ARG;
    s = rni_trainer_count(d, &least);
    if (s != RN_OK) return s;
    return size < least ? RN_ERR_MEMORY : rni_trainer_make(trainer, d, memory, size);
}

#ifndef RN_NO_STDLIB
RN_API rn_status rn_trainer_create(rn_trainer **trainer, const rn_trainer_desc *d) {
    size_t size;
    rn_status s;
    void *block;
    if (!trainer || !d) return RN_ERR_ARG;
    s = rni_trainer_count(d, &size);
    if (s != RN_OK) return s;
    block = malloc(size);
    if (!block) return RN_ERR_MEMORY;
    s = rni_trainer_make(trainer, d, block, size);
    if (s == RN_OK)
        (*trainer)->block = block;
    else
        free(block);
    return s;
}

RN_API void rn_trainer_destroy(rn_trainer *t) {
    if (t && t->block) free(t->block);
}
#endif

/* how strong the poison is in this round */
static void rni_trainer_poison(rn_trainer *t) {
    size_t i;
    for (i = 0; i < t->desc.agents; i++)
        t->agents[i]->poison = rni_attack_poison(&t->attacks[i], t->rounds + 1);
}

/* Everyone is waited for, but those who send nothing: they do not even play. theta_t and eta_t go
   to an agent when its turn comes, so that a tick has few beginnings. */
static void rni_trainer_begin(rn_trainer *t) {
    size_t i;
    rni_trainer_poison(t);
    for (i = 0; i < t->desc.agents; i++)
        t->status[i] = t->attacks[i].kind == RN_ATTACK_SILENCE ? RN_OK : RN_MORE;
    t->busy = 1;
}

static int rni_trainer_begin_agent(rn_trainer *t, size_t i) {
    rn_agent *a = t->agents[i];
    if (a->busy) return 1;
    t->status[i] = rn_agent_begin_round(a, rn_server_theta(t->server), t->eta);
    if (t->status[i] != RN_OK) return 0;
    t->status[i] = RN_MORE;
    return 1;
}

/* As many agents as are in a team, from number i on, side by side; returns the first after them. */
static size_t rni_trainer_tick_team(rn_trainer *t, size_t i, size_t last, size_t team) {
    rni_seat seat[RNI_TEAM];
    size_t who[RNI_TEAM], k, n = 0;
    for (; i < last && n < team; i++) {
        if (!t->share[i] || !rni_trainer_begin_agent(t, i)) continue;
        who[n] = i;
        seat[n++] = rni_seat_make(t->agents[i], t->share[i], t->first);
    }
    if (n) rni_team_tick(seat, n);
    for (k = 0; k < n; k++) {
        t->used[who[k]] = seat[k].used;
        t->status[who[k]] = seat[k].status;
    }
    return i;
}

static void rni_trainer_job(void *arg, size_t i) {
    (void)rni_trainer_tick_team((rn_trainer *)arg, i, i + 1, 1);
}

static size_t rni_trainer_playing(const rn_trainer *t) {
    size_t i, n = 0;
    for (i = 0; i < t->desc.agents; i++) n += t->status[i] == RN_MORE;
    return n;
}

/* The budget in equal parts to the first agents that still play, to so many that each can do a
   piece of its sums with its part, but at least to a team. If a team's parts are smaller, and one
   of it has sums to do, that one gets all. Agents do not depend on each other, so the parts change
   no result; and as not all begin and end at once, no tick has to bear that. */
static void rni_trainer_share(rn_trainer *t, size_t budget, size_t team) {
    const size_t n = t->desc.agents, playing = rni_trainer_playing(t);
    size_t served = budget / RNI_PIECE, i, left, extra, sums = n;
    if (served < team) served = team;
    if (served > playing) served = playing;
    extra = budget % served;
    for (i = 0, left = served; i < n; i++) {
        t->share[i] = t->used[i] = 0;
        if (t->status[i] != RN_MORE || !left) continue;
        t->share[i] = budget / served + (extra ? 1 : 0);
        if (extra) extra--;
        if (sums == n && t->agents[i]->stage > RNI_PLAYING) sums = i;
        left--;
    }
    if (sums == n || budget / served >= RNI_PIECE) return;
    memset(t->share, 0, n * sizeof *t->share);
    t->share[sums] = budget;
}

static size_t rni_trainer_play(rn_trainer *t, size_t budget) {
    const size_t n = t->desc.agents;
    const size_t team = t->desc.jobs.run ? 1 : rni_policy_team(&t->desc.policy);
    size_t i, used = 0;
    rni_trainer_share(t, budget, team);
    if (t->desc.jobs.run)
        t->desc.jobs.run(t->desc.jobs.self, n, rni_trainer_job, t);
    else
        for (i = 0; i < n;) i = rni_trainer_tick_team(t, i, n, team);
    for (i = 0; i < n; i++) used += t->used[i];
    t->first = 0;
    return used;
}

/* Is it the same attack, so that it makes the same row of the same rows? */
static int rni_attack_same(const rn_attack *a, const rn_attack *b) {
    const agg_attack_desc *v = &a->vector, *w = &b->vector;
    return a->kind == b->kind && a->knows == b->knows && a->wait == b->wait && a->ramp == b->ramp &&
           a->make == b->make && a->self == b->self && v->n == w->n && v->f == w->f &&
           v->kind == w->kind && aggi_bits(v->strength) == aggi_bits(w->strength) &&
           v->target == w->target && v->rng.next == w->rng.next && v->rng.self == w->rng.self &&
           v->rule == w->rule && v->direction == w->direction && v->last == w->last &&
           v->step == w->step && v->memory == w->memory && v->by_distance == w->by_distance;
}

/* The first with the attack of agent i, whose memory they share. Rows that take scratch or memory
   are costly, and do not depend on an adversary's own row. */
static size_t rni_trainer_head(const rn_trainer *t, size_t i) {
    const rn_attack *a = &t->attacks[i];
    const rni_need need = rni_attack_need(a, &t->desc);
    size_t j = i;
    if (a->knows != RN_KNOWS_OWN && (need.scratch || need.memory))
        for (j = 0; !rni_attack_same(&t->attacks[j], a);) j++;
    return j;
}

static int rni_trainer_sends(const rn_trainer *t, size_t i) {
    return t->status[i] == RN_OK && t->attacks[i].kind != RN_ATTACK_SILENCE;
}

/* Does it attack by vector in this round? */
static int rni_trainer_strikes(const rn_trainer *t, size_t i) {
    const rn_attack *a = &t->attacks[i];
    return a->kind == RN_ATTACK_VECTOR && rni_trainer_sends(t, i) && t->rounds + 1 > a->wait;
}

/* the true rows that agent i knows, to known; returns how many */
static size_t rni_trainer_known(rn_trainer *t, size_t i) {
    const rn_knowledge knows = t->attacks[i].knows;
    size_t j, count = 0;
    for (j = 0; j < t->desc.agents; j++) {
        const rn_attack_kind kind = t->attacks[j].kind;
        const int shared = knows == RN_KNOWS_ALL
                               ? kind == RN_ATTACK_NONE
                               : knows == RN_KNOWS_ADVERSARIES && kind == RN_ATTACK_VECTOR;
        if ((shared || (j == i && knows == RN_KNOWS_OWN)) && rni_trainer_sends(t, j))
            t->known[count++] = rn_agent_direction(t->agents[j]);
    }
    return count;
}

/* with less than all, the rows it knows stand for those it does not */
static size_t rni_trainer_imagine(rn_trainer *t, size_t i, size_t count, size_t adversaries) {
    const size_t honest = t->desc.agents - adversaries;
    size_t j;
    if (t->attacks[i].knows == RN_KNOWS_ALL) return count;
    for (j = count; j < honest; j++) t->known[j] = t->known[j - count];
    return count < honest ? honest : count;
}

/* where the server's pivot stands among the rows of the honest, which an attack is given */
static size_t rni_trainer_pivot(const rn_trainer *t) {
    size_t i, place = 0;
    for (i = 0; i < t->desc.server.agg.pivot && i < t->desc.agents; i++)
        place += t->attacks[i].kind == RN_ATTACK_NONE && rni_trainer_sends(t, i);
    return place;
}

/* the desc of agg_attack(), with all that is left to the trainer */
static agg_attack_desc rni_trainer_vector(rn_trainer *t, size_t i, size_t adversaries) {
    agg_attack_desc a = t->attacks[i].vector;
    if (!a.n) a.n = t->desc.agents;
    if (!a.f) a.f = adversaries;
    if (!a.rng.next) a.rng = rn_random_rng(&t->random);
    t->rule.pivot = rni_trainer_pivot(t);
    if (!a.rule && !t->desc.server.aggregate) a.rule = &t->rule;
    if (!a.last && t->server->t > 1 && t->attacks[i].knows != RN_KNOWS_OWN) a.last = t->server->d;
    if (!a.step) a.step = t->step;
    if (!a.memory) {
        a.memory = t->memory ? t->memory + i * t->memory_size : NULL;
        a.memory_size = t->memory_size;
    }
    if (!a.scratch) {
        a.scratch = t->attack_scratch;
        a.scratch_size = t->attack_scratch_size;
    }
    return a;
}

/* the same for an attack of the host's own */
static rn_view rni_trainer_view(rn_trainer *t, size_t i, size_t count, size_t adversaries) {
    rn_view v;
    t->rule.pivot = t->desc.server.agg.pivot;
    v.agent = i;
    v.round = t->rounds + 1;
    v.n = t->desc.agents;
    v.f = adversaries;
    v.dim = t->desc.policy.dim;
    v.rows = t->known;
    v.count = count;
    v.own = rn_agent_direction(t->agents[i]);
    v.theta = t->server->theta;
    v.last = t->attacks[i].knows == RN_KNOWS_OWN ? NULL : t->server->d;
    v.step = t->step;
    v.rule = t->desc.server.aggregate ? NULL : &t->rule;
    v.rng = rn_random_rng(&t->random);
    return v;
}

/* what agent i sends at full strength, to `to`; 0: nothing */
static int rni_trainer_attack(rn_trainer *t, size_t i, size_t adversaries, rn_real *to) {
    const rn_attack *a = &t->attacks[i];
    const size_t dim = t->desc.policy.dim;
    size_t count = rni_trainer_known(t, i);
    agg_attack_desc d;
    if (a->make) {
        const rn_view v = rni_trainer_view(t, i, count, adversaries);
        return a->make(a->self, &v, to);
    }
    d = rni_trainer_vector(t, t->head[i], adversaries);
    count = rni_trainer_imagine(t, i, count, adversaries);
    return agg_attack(&d, t->known, count, dim, rn_agent_direction(t->agents[i]), to) == AGG_OK;
}

/* own + share (attack - own), to `to`, which may be attack */
static void rni_blend(const rn_real *own, const rn_real *attack, double share, size_t n,
                      rn_real *to) {
    size_t i;
    if (share >= 1) memmove(to, attack, n * sizeof *to);
    for (i = 0; i < n && share < 1; i++) {
        const double x = (double)own[i];
        to[i] = (rn_real)(x + share * ((double)attack[i] - x));
    }
}

/* The row of agent i at full strength: its own, or that of the first who made it. */
static void rni_trainer_make_row(rn_trainer *t, size_t i) {
    rn_real *to = t->sent + i * t->desc.policy.dim;
    size_t j = 0;
    t->head[i] = rni_trainer_head(t, i);
    while (j < i && !(rni_trainer_strikes(t, j) && t->head[j] == t->head[i])) j++;
    t->maker[i] = j;
    if (j == i) t->rows[i] = rni_trainer_attack(t, i, t->adversaries, to) ? to : NULL;
}

/* The row of agent i by its share of the attack. From behind, so that who made it for others is the
   last to change it. */
static void rni_trainer_share_row(rn_trainer *t, size_t i) {
    const rn_real *row = t->rows[t->maker[i]];
    rn_real *to = t->sent + i * t->desc.policy.dim;
    if (row)
        rni_blend(rn_agent_direction(t->agents[i]), row,
                  rni_attack_share(&t->attacks[i], t->rounds + 1), t->desc.policy.dim, to);
    t->rows[i] = row ? to : NULL;
}

/* The rows as they are: d_1 .. d_N. What adversaries send instead comes after it. */
static void rni_trainer_rows(rn_trainer *t) {
    const size_t n = t->desc.agents;
    size_t i, honest = 0;
    t->adversaries = 0;
    for (i = 0; i < n; i++) {
        const rn_attack_kind kind = t->attacks[i].kind;
        t->rows[i] = rni_trainer_sends(t, i) ? rn_agent_direction(t->agents[i]) : NULL;
        t->adversaries += kind != RN_ATTACK_NONE;
        if (kind == RN_ATTACK_NONE && t->rows[i]) t->honest[honest++] = t->rows[i];
    }
    t->honest_rows = honest;
}

/* and the numbers beside them; who attacks by vector says that steps may be as long as can be */
static void rni_trainer_curvature(rn_trainer *t) {
    size_t i;
    for (i = 0; i < t->desc.agents; i++) {
        t->curvature[i] = t->rows[i] ? rn_agent_curvature(t->agents[i]) : -1;
        if (rni_trainer_strikes(t, i)) t->curvature[i] = 0;
    }
}

/* what of the progress only the agents know */
static void rni_trainer_figures(rn_trainer *t, rn_progress *p) {
    size_t i, honest = 0;
    for (i = 0; i < t->desc.agents; i++) {
        const rn_stats *s = &t->agents[i]->stats;
        if (s->trajectories > p->trajectories) p->trajectories = s->trajectories;
        p->env_steps += s->steps;
        if (t->attacks[i].kind != RN_ATTACK_NONE || t->status[i] != RN_OK) continue;
        p->mean_return += s->mean_return;
        p->mean_length += s->mean_length;
        honest++;
    }
    if (!honest) return;
    p->mean_return /= (double)honest;
    p->mean_length /= (double)honest;
}

/* the sum of the honest rows' numbers from .. from+n-1 */
static void rni_trainer_honest_sum(const rn_trainer *t, size_t from, size_t n, double *sum) {
    size_t i, j;
    for (j = 0; j < n; j++) sum[j] = 0;
    for (i = 0; i < t->honest_rows; i++)
        for (j = 0; j < n; j++) sum[j] += (double)t->honest[i][from + j];
}

/* the sums of cos(d, sum of the honest rows) over numbers from .. to-1. In blocks, so that each row
   is read along its numbers. */
static void rni_end_cosine_sums(rn_trainer *t, size_t from, size_t to) {
    const rn_real *d = t->server->new_d;
    rni_end *e = &t->end;
    double sum[RNI_BLOCK];
    size_t j;
    for (; from < to; from += RNI_BLOCK) {
        const size_t n = to - from < RNI_BLOCK ? to - from : RNI_BLOCK;
        rni_trainer_honest_sum(t, from, n, sum);
        for (j = 0; j < n; j++) {
            const double x = (double)d[from + j];
            e->dot += sum[j] * x;
            e->dd += x * x;
            e->ss += sum[j] * sum[j];
        }
    }
}

/* -2 where it has no value, as for d = 0 */
static double rni_end_cosine(const rni_end *e) {
    const double cosine = e->dot / (aggi_sqrt(e->dd) * aggi_sqrt(e->ss));
    return aggi_within(cosine, -2, 2) ? cosine : -2;
}

/* -theta_t before the update, theta_{t+1} - theta_t after it */
static void rni_trainer_step(rn_trainer *t, int after) {
    size_t i;
    for (i = 0; i < t->desc.policy.dim && t->step; i++)
        t->step[i] = after ? t->step[i] + t->server->theta[i] : -t->server->theta[i];
}

static int rni_random_same(const rn_random *a, const rn_random *b) {
    uint64_t differ = 0;
    size_t i;
    for (i = 0; i < 4; i++) differ |= a->s[i] ^ b->s[i];
    return !differ;
}

/* Can the rows be made again from what is saved? Not if that takes random numbers, memory or
   functions of the host's. */
static int rni_end_repeats(const rn_trainer *t) {
    size_t i;
    if (t->memory || !rni_random_same(&t->random, &t->end.random)) return 0;
    for (i = 0; i < t->desc.agents; i++) {
        const rn_attack *a = &t->attacks[i];
        const agg_attack_desc *v = &a->vector;
        if (rni_trainer_strikes(t, i) && (a->make || v->rng.next || v->memory || v->rule)) return 0;
    }
    return 1;
}

/* Until the last piece nothing changes that is saved, so that a trainer which is saved before it
   begins with this one again. */
static void rni_end_rows(rn_trainer *t, int divide) {
    rni_end *e = &t->end;
    rni_trainer_rows(t);
    e->random = t->random;
    e->divided = divide && !e->hurry && e->memory && rni_end_repeats(t);
    e->at = 0;
    e->next = RNI_END_ATTACKS;
}

/* All rows are there: the update begins. */
static void rni_end_begin(rn_trainer *t) {
    const rn_arrivals a = rni_arrivals(t->rows, t->curvature);
    rni_end *e = &t->end;
    size_t i;
    rni_trainer_curvature(t);
    e->status = rni_update_begin(t->server, &a, &e->p, &e->step);
    e->stages = NULL;
    e->part = e->at = 0;
    e->dot = e->dd = e->ss = 0;
    e->next = e->status == RN_OK ? RNI_END_AGGREGATE : RNI_END_UPDATE;
    if (!e->divided || e->status != RN_OK) return;
    for (i = 0; i < t->desc.agents; i++) e->missing[i] = !t->rows[i];
    if (agg_stages_begin(&e->stages, &t->server->desc.agg, RNI_WINDOW, e->missing, &e->report,
                         e->memory, e->memory_size) != AGG_OK)
        e->stages = NULL; /* in one piece it says why */
}

/* The next row that attacks: all at full strength, then each by its share. */
static void rni_end_attack(rn_trainer *t) {
    const size_t n = t->desc.agents;
    rni_end *e = &t->end;
    while (e->at < 2 * n && !rni_trainer_strikes(t, e->at < n ? e->at : 2 * n - 1 - e->at)) e->at++;
    if (e->at < n)
        rni_trainer_make_row(t, e->at);
    else if (e->at < 2 * n)
        rni_trainer_share_row(t, 2 * n - 1 - e->at);
    if (!rni_end_repeats(t)) e->divided = 0;
    if (++e->at >= 2 * n) rni_end_begin(t);
}

/* one more window of the pass; returns whether it was the last */
static int rni_end_window(rn_trainer *t) {
    rni_end *e = &t->end;
    size_t from, all, width, i;
    agg_stages_part(e->stages, e->part, &from, &all);
    width = rni_window(e->at, all);
    from += e->at;
    for (i = 0; i < t->desc.agents; i++) e->here[i] = t->rows[i] ? t->rows[i] + from : NULL;
    (void)agg_stages_add(e->stages, e->part, from, width, e->here, t->server->new_d + from);
    e->at += width;
    if (e->at < all) return 0;
    e->at = 0;
    return ++e->part == agg_stages_parts(e->stages);
}

/* what came of the aggregation; the arrays of its report become the server's with the update */
static void rni_end_decided(rn_trainer *t) {
    const rn_arrivals a = rni_arrivals(t->rows, t->curvature);
    rni_end *e = &t->end;
    if (e->p.aggregate != AGG_OK && e->p.aggregate != AGG_INEXACT) {
        memset(e->report.weight, 0, t->desc.agents * sizeof(double));
        memset(e->report.suspicion, 0, t->desc.agents * sizeof(double));
    }
    rni_count_dropped(t->server, &a, &e->report, &e->p);
}

/* a pass begins, goes on, or there are no more */
static void rni_end_aggregate(rn_trainer *t) {
    const rn_arrivals a = rni_arrivals(t->rows, t->curvature);
    rni_end *e = &t->end;
    if (e->stages) {
        if (agg_stages_parts(e->stages) && !rni_end_window(t)) return;
        e->part = e->at = 0;
        e->p.aggregate = agg_stages_decide(e->stages);
        if (e->p.aggregate == AGG_MORE) return;
        rni_end_decided(t);
    } else {
        rni_server_aggregate(t->server, &a, &e->p, 1);
    }
    e->at = 0;
    e->next = RNI_END_COSINE;
}

static void rni_end_cosine_piece(rn_trainer *t) {
    const size_t dim = t->desc.policy.dim, most = t->end.divided ? RNI_WINDOW : dim;
    rni_end *e = &t->end;
    const size_t to = dim - e->at < most ? dim : e->at + most;
    if (e->p.aggregate == AGG_OK || e->p.aggregate == AGG_INEXACT)
        rni_end_cosine_sums(t, e->at, to);
    e->at = to;
    if (to == dim) e->next = t->desc.server.watch ? RNI_END_WATCH : RNI_END_UPDATE;
}

/* Loaded: the end that may have been under way begins again. Then it is made whole, so that who
   saves and loads after each tick comes to the end of it too. */
static void rni_end_forget(rni_end *e, int under_way) {
    e->next = RNI_END_ROWS;
    e->hurry = under_way;
}

static void rni_end_watch(rn_trainer *t) {
    const rn_arrivals a = rni_arrivals(t->rows, t->curvature);
    if (rni_watch_look(t->server, &a)) t->end.next = RNI_END_UPDATE;
}

/* theta_{t+1}, and the round is over */
static rn_status rni_end_update(rn_trainer *t) {
    const rn_arrivals a = rni_arrivals(t->rows, t->curvature);
    const size_t bytes = t->desc.agents * sizeof(double);
    rni_end *e = &t->end;
    rn_progress *p = &t->progress;
    *p = e->p;
    if (e->stages) {
        p->weight = (double *)memcpy(t->server->weight, e->report.weight, bytes);
        p->suspicion = (double *)memcpy(t->server->suspicion, e->report.suspicion, bytes);
    }
    rni_trainer_step(t, 0);
    p->status = e->status;
    if (p->status == RN_OK) p->status = rni_update_end(t->server, &a, p, e->step);
    rni_trainer_step(t, 1);
    if (p->status == RN_OK) p->cosine = rni_end_cosine(e);
    if (p->status != RN_OK) rn_server_skip_round(t->server);
    rni_trainer_figures(t, p);
    t->busy = 0;
    rni_end_forget(e, 0);
    RNI_UP(t->rounds, size_t);
    if (t->desc.progress) t->desc.progress(t->desc.progress_self, p);
    return t->progress.status;
}

static rn_status rni_end_piece(rn_trainer *t, int divide) {
    switch (t->end.next) {
    case RNI_END_ROWS: rni_end_rows(t, divide); break;
    case RNI_END_ATTACKS: rni_end_attack(t); break;
    case RNI_END_AGGREGATE: rni_end_aggregate(t); break;
    case RNI_END_COSINE: rni_end_cosine_piece(t); break;
    case RNI_END_WATCH: rni_end_watch(t); break;
    default: return rni_end_update(t);
    }
    return RN_MORE;
}

/* What a piece counts, in environment steps: a pass over the rows sorts columns, or compares each
   row with each, and an end is four passes, more or less. The watch looks at 16 rows or pairs. */
static size_t rni_end_pass(size_t n) {
    const size_t most = (size_t)-1 / 64;
    return most / n < n + 32 ? most : 16 * n + n * n / 2;
}

static size_t rni_end_cost(const rn_trainer *t) {
    if (t->end.next == RNI_END_WATCH) return 6 * RNI_GLANCE;
    return rni_end_pass(t->desc.agents) / (t->desc.policy.dim / RNI_WINDOW + 1) + 1;
}

/* the watch compares all rows with all */
static size_t rni_end_whole(const rn_trainer *t) {
    return (t->desc.server.watch ? 10 : 4) * rni_end_pass(t->desc.agents);
}

/* It is made whole if that fits what is left of the budget, else in pieces, one at least, from the
   tick on in which nobody plays. *count: what was used */
static rn_status rni_trainer_end(rn_trainer *t, size_t budget, size_t *count) {
    const size_t left = budget - *count, all = rni_end_whole(t);
    const int whole = t->end.next == RNI_END_ROWS && left >= all;
    size_t done = 0, piece = rni_end_cost(t);
    rn_status s;
    if (*count && !whole) return RN_MORE;
    do {
        s = rni_end_piece(t, !whole);
        done = piece < left - done ? done + piece : left;
        piece = rni_end_cost(t);
    } while (s == RN_MORE && (!t->end.divided || left - done >= piece));
    if (!t->end.divided) done = left < all ? left : all;
    *count += done;
    return s;
}

/* Plays until the budget is used, or nothing fits what is left of it. */
static size_t rni_trainer_play_all(rn_trainer *t, size_t budget) {
    size_t count = 0, used = 1, before = 0, playing = rni_trainer_playing(t);
    t->eta = rn_server_eta(t->server);
    t->first = 1;
    while (count < budget && playing && (used || playing < before)) {
        used = rni_trainer_play(t, budget - count);
        count += used;
        before = playing;
        playing = rni_trainer_playing(t);
    }
    return count;
}

RN_API rn_status rn_trainer_tick(rn_trainer *t, size_t budget, size_t *used) {
    size_t count;
    rn_status s = RN_MORE;
    if (used) *used = 0;
    if (!t) return RN_ERR_ARG;
    if (!t->busy) rni_trainer_begin(t);
    count = rni_trainer_play_all(t, budget);
    if (!rni_trainer_playing(t) && budget) s = rni_trainer_end(t, budget, &count);
    if (used) *used = count;
    return s;
}

RN_API rn_status rn_trainer_run_round(rn_trainer *t) {
    return rn_trainer_tick(t, (size_t)-1, NULL);
}

RN_API const rn_real *rn_trainer_theta(const rn_trainer *t) { return t ? t->server->theta : NULL; }
RN_API size_t rn_trainer_rounds_done(const rn_trainer *t) { return t ? t->rounds : 0; }
RN_API rn_server *rn_trainer_server(rn_trainer *t) { return t ? t->server : NULL; }

RN_API const rn_progress *rn_trainer_progress(const rn_trainer *t) {
    return t ? &t->progress : NULL;
}

RN_API rn_agent *rn_trainer_agent(rn_trainer *t, size_t i) {
    return t && i < t->desc.agents ? t->agents[i] : NULL;
}

RN_API rn_status rn_trainer_agent_status(const rn_trainer *t, size_t i) {
    return t && i < t->desc.agents ? t->status[i] : RN_ERR_ARG;
}

static int rni_trainer_has_room(const rn_trainer *t, const rn_attack *a) {
    const rni_need need = rni_attack_need(a, &t->desc);
    return need.scratch <= t->attack_scratch_size && need.memory <= t->memory_size &&
           (!need.step || t->step);
}

/* The first other who shares a memory with agent i; N: nobody. */
static size_t rni_trainer_mate(const rn_trainer *t, size_t i) {
    const rn_attack *a = &t->attacks[i];
    size_t j = a->knows == RN_KNOWS_OWN ? t->desc.agents : 0;
    while (j < t->desc.agents && (j == i || !rni_attack_same(&t->attacks[j], a))) j++;
    return j;
}

/* Those who share a memory have it in the first one's place: as agent i comes or goes it moves. */
static void rni_trainer_swap_attack(rn_trainer *t, size_t i, const rn_attack *a) {
    const size_t n = t->desc.agents, size = t->memory_size, left = rni_trainer_mate(t, i);
    unsigned char *mine = t->memory ? t->memory + i * size : NULL;
    size_t joined;
    t->attacks[i] = *a;
    if (!mine) return;
    if (left > i && left < n) memcpy(t->memory + left * size, mine, size);
    memset(mine, 0, size);
    joined = rni_trainer_mate(t, i);
    if (joined > i && joined < n) memcpy(mine, t->memory + joined * size, size);
}

RN_API rn_status rn_trainer_set_attack(rn_trainer *t, size_t i, const rn_attack *attack) {
    const rn_attack a = attack ? *attack : rni_no_attack();
    rni_complaint unsaid;
    if (!t || i >= t->desc.agents) return RN_ERR_ARG;
    if (t->busy) return RN_ERR_ORDER;
    if (rni_attack_check(&a, &t->desc, t->desc.agents, &unsaid) != RN_OK) return RN_ERR_DESC;
    if (!rni_trainer_has_room(t, &a)) return RN_ERR_DESC;
    rni_trainer_swap_attack(t, i, &a);
    t->agents[i]->random_action = a.kind == RN_ATTACK_RANDOM_ACTION;
    t->agents[i]->flip_reward = a.kind == RN_ATTACK_REWARD_FLIP;
    return RN_OK;
}

/* ---- 11 saving ------------------------------------------------------------------------------- */

/* One walk over an object's fields serves six purposes, so that nothing can be written and not
   read. The last four read the bytes, and take what they find there for the way on; only RNI_READ
   changes the object. Loading is RNI_CHECK, RNI_LOAD_ENVS (if one refuses: RNI_UNDO_ENVS) and
   RNI_READ. */
enum { RNI_COUNT, RNI_WRITE, RNI_CHECK, RNI_LOAD_ENVS, RNI_UNDO_ENVS, RNI_READ };

typedef struct rni_io {
    int mode;
    rn_status status; /* RN_OK, or why the walk stopped */
    unsigned char *to;
    const unsigned char *from;
    size_t at, size;
    size_t envs; /* environments loaded, or still to be put back */
    int no_save; /* an environment in the middle of a trajectory has no save and load */
} rni_io;

static int rni_io_reads(const rni_io *io) { return io->mode >= RNI_CHECK; }

/* the first reason counts */
static void rni_io_refuse(rni_io *io, rn_status why) {
    if (io->status == RN_OK) io->status = why;
}

static int rni_io_room(rni_io *io, size_t n) {
    if (io->mode != RNI_COUNT && n > io->size - io->at) rni_io_refuse(io, RN_ERR_CORRUPT);
    return io->status == RN_OK;
}

/* little-endian words of 4 or 8 bytes */
static void rni_put(unsigned char *to, uint64_t x, size_t bytes) {
    size_t i;
    for (i = 0; i < bytes; i++) to[i] = (unsigned char)(x >> (8 * i));
}

static uint64_t rni_get(const unsigned char *from, size_t bytes) {
    uint64_t x = 0;
    size_t i;
    for (i = 0; i < bytes; i++) x |= (uint64_t)from[i] << (8 * i);
    return x;
}

/* A word, low .. high where it is read. Returns what is in the bytes (x if they are written), or
   low if that is refused. */
static uint64_t rni_io_u64(rni_io *io, uint64_t x, uint64_t low, uint64_t high) {
    if (!rni_io_room(io, 8)) return low;
    if (io->mode == RNI_WRITE) rni_put(io->to + io->at, x, 8);
    if (rni_io_reads(io)) {
        x = rni_get(io->from + io->at, 8);
        if (x < low || x > high) rni_io_refuse(io, RN_ERR_CORRUPT);
    }
    io->at += 8;
    return io->status == RN_OK ? x : low;
}

/* a word that can only be x; if not, that is why */
static void rni_io_expect(rni_io *io, uint64_t x, rn_status why) {
    const rn_status before = io->status;
    (void)rni_io_u64(io, x, x, x);
    if (before == RN_OK && io->status != RN_OK) io->status = why;
}

static size_t rni_io_size(rni_io *io, size_t *x, size_t low, size_t high) {
    const size_t y = (size_t)rni_io_u64(io, *x, low, high);
    if (io->mode == RNI_READ) *x = y;
    return y;
}

static int rni_io_flag(rni_io *io, int *x) {
    const int y = (int)rni_io_u64(io, (uint64_t)*x, 0, 1);
    if (io->mode == RNI_READ) *x = y;
    return y;
}

static uint64_t rni_io_counter(rni_io *io, uint64_t *x, uint64_t low) {
    const uint64_t y = rni_io_u64(io, *x, low, RNI_MOST(uint64_t));
    if (io->mode == RNI_READ) *x = y;
    return y;
}

static rn_status rni_io_status(rni_io *io, rn_status *x) {
    const rn_status y = (rn_status)rni_io_u64(io, (uint64_t)*x, 0, RN_STATUS_COUNT - 1);
    if (io->mode == RNI_READ) *x = y;
    return y;
}

/* Finite; returns what is in the bytes. */
static double rni_io_number(rni_io *io, double *x) {
    const uint64_t bits = io->mode == RNI_WRITE ? aggi_bits(*x) : 0;
    const double y = aggi_from_bits(rni_io_u64(io, bits, 0, (uint64_t)-1));
    if (rni_io_reads(io) && !aggi_finite(y)) rni_io_refuse(io, RN_ERR_CORRUPT);
    if (io->mode == RNI_READ) *x = y;
    return y;
}

static void rni_io_numbers(rni_io *io, double *x, size_t n) {
    size_t i;
    for (i = 0; i < n && io->status == RN_OK; i++) (void)rni_io_number(io, &x[i]);
}

/* what only an enemy writes */
static void rni_io_demand(rni_io *io, int fine) {
    if (rni_io_reads(io) && !fine) rni_io_refuse(io, RN_ERR_CORRUPT);
}

/* 0 .. high */
static double rni_io_range(rni_io *io, double *x, double high) {
    const double y = rni_io_number(io, x);
    rni_io_demand(io, y >= 0 && y <= high);
    return y;
}

static double rni_io_share(rni_io *io, double *x) { return rni_io_range(io, x, 1); }

static void rni_io_positives(rni_io *io, double *x, size_t n) {
    size_t i;
    for (i = 0; i < n && io->status == RN_OK; i++) (void)rni_io_range(io, &x[i], DBL_MAX);
}

#ifdef AGG_DOUBLE
typedef uint64_t rni_word;
#else
typedef uint32_t rni_word;
#endif

/* 4 or 8 bytes each; finite, at least low. seen, unless NULL, is told what is checked. */
static void rni_io_reals_from(rni_io *io, rn_real *x, size_t n, double low, rn_real *seen) {
    size_t i;
    if (!aggi_product_fits(n, sizeof *x)) rni_io_refuse(io, RN_ERR_CORRUPT);
    if (!rni_io_room(io, n * sizeof *x)) return;
    for (i = 0; i < n && io->mode != RNI_COUNT; i++) {
        const size_t at = io->at + i * sizeof *x;
        rni_word bits;
        rn_real y;
        if (io->mode == RNI_WRITE) {
            memcpy(&bits, &x[i], sizeof bits);
            rni_put(io->to + at, bits, sizeof bits);
            continue;
        }
        bits = (rni_word)rni_get(io->from + at, sizeof bits);
        memcpy(&y, &bits, sizeof y);
        if (!aggi_within((double)y, low, AGGI_REAL_MAX)) rni_io_refuse(io, RN_ERR_CORRUPT);
        if (io->mode == RNI_READ) x[i] = y;
        if (io->mode == RNI_CHECK && seen) seen[i] = y;
    }
    io->at += n * sizeof *x;
}

static void rni_io_reals(rni_io *io, rn_real *x, size_t n) {
    rni_io_reals_from(io, x, n, -AGGI_REAL_MAX, NULL);
}

/* All zeros is the one state that the generator cannot leave. */
static void rni_io_random(rni_io *io, rn_random *r) {
    uint64_t any = 0;
    size_t i;
    for (i = 0; i < 4; i++) {
        const uint64_t y = rni_io_u64(io, r->s[i], 0, (uint64_t)-1);
        any |= y;
        if (io->mode == RNI_READ) r->s[i] = y;
    }
    if (rni_io_reads(io) && !any) rni_io_refuse(io, RN_ERR_CORRUPT);
}

/* CRC-32 as in zip and PNG, four bits at a time */
static uint32_t rni_crc32(const unsigned char *p, size_t n) {
    static const uint32_t table[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    uint32_t crc = 0xffffffffu;
    while (n--) {
        crc ^= *p++;
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

/* Fingerprints: a hash (FNV-1a, by 8 bytes) of the sizes and options that a saved state depends
   on. */
#define RNI_HASH_START 0xcbf29ce484222325u

static uint64_t rni_hash(uint64_t h, uint64_t x) {
    int i;
    for (i = 0; i < 8; i++) h = (h ^ ((x >> (8 * i)) & 255u)) * 0x100000001b3u;
    return h;
}

static uint64_t rni_hash_policy(uint64_t h, const rn_policy *p) {
    h = rni_hash(h, p->dim);
    h = rni_hash(h, p->obs_dim);
    h = rni_hash(h, p->act_dim);
    return rni_hash(h, p->actions);
}

static uint64_t rni_hash_method(uint64_t h, const rn_method *m) {
    h = rni_hash(h, m->horizon);
    h = rni_hash(h, m->batch);
    h = rni_hash(h, aggi_bits(m->discount));
    h = rni_hash(h, (uint64_t)m->estimator);
    h = rni_hash(h, (uint64_t)m->baseline);
    h = rni_hash(h, m->no_hessian ? 1 : 0);
    h = rni_hash(h, (m->whiten ? 1u : 0u) | (m->causal ? 2u : 0u) | (m->no_memory ? 4u : 0u) |
                        (m->flat ? 8u : 0u) | (m->reuse ? 16u : 0u) | (m->tuned ? 32u : 0u) |
                        (m->curvature ? 64u : 0u) | (m->lookahead ? 128u : 0u));
    h = rni_hash(h, aggi_bits(m->clip));
    h = rni_hash(h, aggi_bits(m->forget));
    return rni_hash(h, aggi_bits(m->ridge));
}

static uint64_t rni_agent_fingerprint(const rn_agent *a) {
    const uint64_t h = rni_hash_policy(RNI_HASH_START, &a->policy);
    return rni_hash(rni_hash_method(h, &a->method), a->env.state_size);
}

static uint64_t rni_server_fingerprint(const rn_server *s) {
    uint64_t h = rni_hash(RNI_HASH_START, s->desc.n);
    h = rni_hash(h, s->desc.dim);
    h = rni_hash(h, (uint64_t)s->desc.update | (s->desc.soft ? 256u : 0u) |
                        (s->desc.kl > 0 ? 512u : 0u) | (uint64_t)s->desc.watch << 16);
    return rni_hash(h, aggi_bits(s->desc.radius));
}

static uint64_t rni_trainer_fingerprint(const rn_trainer *t) {
    uint64_t h = rni_server_fingerprint(t->server);
    size_t i;
    for (i = 0; i < t->desc.agents; i++) h = rni_hash(h, rni_agent_fingerprint(t->agents[i]));
    if (t->memory || t->step) h = rni_hash(h, t->memory_size << 1 | (t->step ? 1u : 0u));
    return h;
}

/* The fields, object by object. */

/* A = sum x x^T: its diagonal is not negative */
static void rni_io_baseline(rni_io *io, rni_baseline *b, size_t horizon) {
    size_t i;
    if (b->sum) {
        rni_io_numbers(io, b->sum, horizon);
        rni_io_positives(io, b->count, horizon);
    }
    if (!b->n) return;
    for (i = 0; i < b->n; i++) {
        rni_io_positives(io, &b->A[i * b->n + i], 1);
        if (i + 1 < b->n) rni_io_numbers(io, &b->A[i * b->n + i + 1], b->n);
    }
    rni_io_numbers(io, b->b, b->n);
    rni_io_numbers(io, b->coef, b->n);
}

/* what method.tuned has learnt; lengths and ranges as rni_bank_fits() wants them */
static void rni_io_bank(rni_io *io, rn_agent *a) {
    rni_bank *b = &a->bank;
    size_t k;
    (void)rni_io_range(io, &b->rounds, RNI_SCORE_ROUNDS);
    (void)rni_io_range(io, &b->moves, RNI_FILTER_ROUNDS);
    (void)rni_io_range(io, &b->change, RNI_FILTER_MOST);
    for (k = 0; k < RNI_FILTERS; k++) {
        rni_filter *f = &b->filter[k];
        double score;
        (void)rni_io_range(io, &f->noise, RNI_FILTER_MOST);
        (void)rni_io_range(io, &f->error, RNI_FILTER_MOST);
        (void)rni_io_range(io, &f->lag, RNI_FILTER_MOST);
        score = rni_io_number(io, &f->score);
        rni_io_demand(io, score >= -RNI_FILTER_MOST && score <= RNI_FILTER_MOST);
    }
    rni_io_reals(io, a->bank_d, RNI_FILTERS * a->policy.dim);
}

/* -1 or a number that is not negative */
static void rni_io_curvature(rni_io *io, rn_agent *a) {
    const double x = rni_io_number(io, &a->curvature);
    rni_io_demand(io, x >= -1 && (x >= 0 || x <= -1));
}

/* An environment may refuse its bytes; those before it, which are counted, are then put back. */
static void rni_io_env(rni_io *io, rn_agent *a) {
    const rn_env *e = &a->env;
    if (!rni_io_room(io, e->state_size)) return;
    if (!e->state_size) io->no_save = 1;
    if (io->mode == RNI_WRITE) e->save(e->self, io->to + io->at);
    if (io->mode == RNI_LOAD_ENVS) {
        e->save(e->self, a->env_backup);
        if (e->load(e->self, io->from + io->at))
            io->envs++;
        else
            rni_io_refuse(io, RN_ERR_CORRUPT);
    }
    if (io->mode == RNI_UNDO_ENVS && io->envs) {
        (void)e->load(e->self, a->env_backup);
        io->envs--;
    }
    io->at += e->state_size;
}

/* Could the agent have done this? */
static int rni_agent_could_act(const rn_agent *a, const rn_real *act) {
    const rn_policy *p = &a->policy;
    const rni_range r = rni_random_range(&a->env);
    size_t j;
    if (!rni_action_ok(&a->env, act)) return 0;
    if (!a->random_action) return !p->accepts_act || p->accepts_act(p->self, act);
    for (j = 0; j < p->act_dim && !p->actions; j++)
        if (!(act[j] >= (rn_real)r.low && act[j] <= (rn_real)r.high)) return 0;
    return 1;
}

/* The policy is given these rows, and may take them for indices: they are checked as when they were
   new. The last observation is when it is used. */
static void rni_io_rows(rni_io *io, rn_agent *a, size_t t) {
    const size_t obs_dim = a->policy.obs_dim, act_dim = a->policy.act_dim;
    const int check = io->mode == RNI_CHECK;
    size_t i;
    for (i = 0; i <= t && io->status == RN_OK; i++) {
        rni_io_reals_from(io, a->obs + i * obs_dim, obs_dim, -AGGI_REAL_MAX, a->row);
        if (check && io->status == RN_OK && i < t)
            rni_io_demand(io, rni_obs_ok(&a->policy, a->row));
    }
    for (i = 0; i < t && io->status == RN_OK; i++) {
        rni_io_reals_from(io, a->act + i * act_dim, act_dim, -AGGI_REAL_MAX, a->row);
        if (check && io->status == RN_OK) rni_io_demand(io, rni_agent_could_act(a, a->row));
    }
}

/* only a net's sums are divided, and in blocks */
static void rni_io_sums(rni_io *io, rn_agent *a, int stage, size_t t) {
    const size_t most = rni_is_net(&a->policy) ? (stage == RNI_SUMS_V ? 2 * t : t) - 1 : 0;
    const size_t at = rni_io_size(io, &a->at, 0, most);
    rni_io_demand(io, (at < t ? at : at - t) % RNI_BLOCK == 0);
    rni_io_reals(io, a->weight, t);
}

/* Begun, so that a step was made. One that is played has not come to the horizon; one that has
   ended needs no environment. Of sums that are under way it is saved how far they are. Returns how
   many steps it has. */
static size_t rni_io_trajectory(rni_io *io, rn_agent *a, int stage) {
    const int ended = stage > RNI_PLAYING;
    const size_t t = rni_io_size(io, &a->t, 1, a->method.horizon - (ended ? 0 : 1));
    if (!a->method.lookahead) rni_io_reals(io, a->hat, a->policy.dim); /* theta~ follows */
    rni_io_rows(io, a, t);
    rni_io_numbers(io, a->reward, t);
    if (!ended) rni_io_env(io, a);
    if (stage > RNI_ENDED) rni_io_sums(io, a, stage, t);
    return t;
}

static int rni_io_stage(rni_io *io, int *x) {
    const int y = (int)rni_io_u64(io, (uint64_t)*x, RNI_IDLE, RNI_SUMS_V);
    if (io->mode == RNI_READ) *x = y;
    return y;
}

/* In the middle of a round. There is a tau^ only if there was a round before (has_d), and v
   counts. Returns how many steps the trajectory under way has. */
static size_t rni_io_round(rni_io *io, rn_agent *a, int has_d) {
    const size_t dim = a->policy.dim, m = a->method.batch;
    const int stage = rni_io_stage(io, &a->stage);
    const size_t trajectories = rni_io_size(io, &a->trajectories, m, 2 * m);
    const size_t trajectory = rni_io_size(io, &a->trajectory, 0, trajectories - 1);
    const double eta = rni_io_share(io, &a->eta), most = (double)a->method.horizon;
    size_t t = 0;
    rni_io_demand(io, trajectories == m || (trajectories == 2 * m && has_d && eta < 1));
    rni_io_demand(io, trajectories == m || !(a->method.no_hessian || a->method.reuse));
    (void)rni_io_size(io, &a->round, 0, RNI_MOST(size_t));
    rni_io_numbers(io, &a->sum_return, 1);
    (void)rni_io_range(io, &a->sum_length, most * (double)(trajectory < m ? trajectory : m));
    if (a->method.curvature) {
        (void)rni_io_range(io, &a->sum_cc, DBL_MAX);
        (void)rni_io_range(io, &a->count_cc, most * (double)trajectory);
    }
    rni_io_reals(io, a->theta, dim);
    rni_io_reals(io, a->g, dim);
    rni_io_reals(io, a->v, dim);
    if (stage != RNI_IDLE) t = rni_io_trajectory(io, a, stage);
    rni_io_demand(io, stage != RNI_SUMS_G || trajectory < m); /* tau^ is for v alone */
    return t;
}

/* Is the round under way one that was made before? */
static int rni_io_again(rni_io *io, rn_agent *a, int has_d) {
    const int again = rni_io_flag(io, &a->again);
    rni_io_demand(io, has_d || !again);
    return again;
}

/* the sums that were under way, as far as they were */
static void rni_agent_sum_again(rn_agent *a) {
    const int stage = a->stage;
    const size_t at = a->at;
    a->kept = 0;
    a->at = 0;
    while (stage > RNI_ENDED && a->stage == stage && a->at < at) (void)rni_agent_sum(a);
}

/* what is not saved because it follows from the rest */
static void rni_agent_wake(rn_agent *a) {
    if (!a->has_d && a->busy) rni_agent_first_round(a);
    if (!a->busy || a->again)
        a->stage = RNI_IDLE;
    else
        rni_agent_move(a);
    if (a->busy && !a->again && a->method.lookahead) rni_agent_look_ahead(a);
    /* also at a trajectory's end: or the sums take for kept what another one left in work */
    if ((a->stage == RNI_PLAYING || a->stage == RNI_ENDED) && a->policy.prepare)
        a->policy.prepare(a->policy.self, rni_agent_point(a), a->work);
    rni_agent_sum_again(a);
}

/* Returns whether it is in the middle of a round. Steps are counted as they are made, a trajectory
   when it is complete. */
static int rni_io_agent(rni_io *io, rn_agent *a) {
    uint64_t rounds, trajectories, steps;
    size_t under_way = 0;
    int busy, has_d;
    rni_io_random(io, &a->random);
    rounds = rni_io_counter(io, &a->stats.rounds, 0);
    trajectories = rni_io_counter(io, &a->stats.trajectories, rounds);
    steps = rni_io_counter(io, &a->stats.steps, trajectories);
    rni_io_numbers(io, &a->stats.mean_return, 1);
    (void)rni_io_range(io, &a->stats.mean_length, (double)a->method.horizon);
    rni_io_baseline(io, &a->baseline, a->method.horizon);
    has_d = rni_io_flag(io, &a->has_d);
    rni_io_demand(io, has_d == (rounds > 0));
    if (has_d) {
        rni_io_reals(io, a->d, a->policy.dim);
        rni_io_reals(io, a->before, a->policy.dim);
        (void)rni_io_size(io, &a->last_round, 0, RNI_MOST(size_t));
        (void)rni_io_share(io, &a->last_eta);
        if (a->method.tuned) rni_io_bank(io, a);
        if (a->method.curvature) rni_io_curvature(io, a);
    }
    busy = rni_io_flag(io, &a->busy);
    if (busy && !rni_io_again(io, a, has_d)) under_way = rni_io_round(io, a, has_d);
    rni_io_demand(io, steps == RNI_MOST(uint64_t) || steps - trajectories >= under_way);
    if (io->mode == RNI_READ) rni_agent_wake(a);
    return busy;
}

/* squares of fewer norms than there were rounds, each as rni_soft_norm() cuts it */
static void rni_io_soft(rni_io *io, rn_server *s, size_t t) {
    const size_t norms = rni_io_size(io, &s->norms, 0, t - 1);
    (void)rni_io_range(io, &s->squares, (double)norms * (RNI_SOFT_MOST * RNI_SOFT_MOST));
}

/* shares of E are more than 0 and at most 1 */
static void rni_io_watch(rni_io *io, rni_watch *w, const rn_server_desc *d) {
    size_t i, j;
    for (i = 0; i < d->n; i++) {
        double x;
        (void)rni_io_flag(io, &w->known[i]);
        rni_io_reals(io, w->last + i * d->dim, d->dim);
        x = rni_io_number(io, &w->evidence[i]);
        rni_io_demand(io, aggi_within(x, -RNI_EVIDENCE_MOST, RNI_EVIDENCE_MOST));
        for (j = 0; j < RNI_STAKES; j++)
            rni_io_demand(io, rni_io_share(io, &w->stake[i * RNI_STAKES + j]) > 0);
    }
}

static void rni_io_server(rni_io *io, rn_server *s) {
    size_t t;
    rni_io_random(io, &s->random);
    t = rni_io_size(io, &s->t, 1, RNI_MOST(size_t));
    if (s->desc.soft) rni_io_soft(io, s, t);
    if (s->desc.kl > 0) rni_io_demand(io, rni_io_range(io, &s->step, RNI_KL_MOST) >= RNI_KL_LEAST);
    (void)rni_io_share(io, &s->power1);
    (void)rni_io_share(io, &s->power2);
    rni_io_reals(io, s->theta, s->desc.dim);
    rni_io_reals(io, s->d, s->desc.dim);
    if (s->desc.watch) rni_io_watch(io, &s->watch, &s->desc);
    if (!s->m) return;
    rni_io_reals(io, s->m, s->desc.dim);
    rni_io_reals_from(io, s->v, s->desc.dim, 0, NULL);
}

/* what attacks remember: doubles, agent by agent */
static void rni_io_attacks(rni_io *io, rn_trainer *t) {
    const size_t doubles = t->memory_size / sizeof(double);
    size_t i;
    if (t->step) rni_io_reals(io, t->step, t->desc.policy.dim);
    for (i = 0; i < t->desc.agents && t->memory; i++)
        rni_io_numbers(io, (double *)(void *)(t->memory + i * t->memory_size), doubles);
    if (io->mode == RNI_READ) rni_trainer_poison(t);
}

/* An agent in the middle of a round must be one that the trainer waits for: nobody else would end
   its round. (Who is waited for may still have to begin.) Who waits is in the middle of a round. */
static void rni_io_trainer(rni_io *io, rn_trainer *t) {
    size_t i, waiting = 0;
    int busy;
    rni_io_random(io, &t->random);
    (void)rni_io_size(io, &t->rounds, 0, RNI_MOST(size_t));
    busy = rni_io_flag(io, &t->busy);
    rni_io_server(io, t->server);
    for (i = 0; i < t->desc.agents; i++) {
        const rn_status s = rni_io_status(io, &t->status[i]);
        if (rni_io_agent(io, t->agents[i]) && s != RN_MORE) rni_io_refuse(io, RN_ERR_CORRUPT);
        waiting += s == RN_MORE;
    }
    if (!busy && waiting) rni_io_refuse(io, RN_ERR_CORRUPT);
    rni_io_attacks(io, t);
    if (io->mode == RNI_READ) rni_end_forget(&t->end, busy && !waiting);
}

/* An object is its kind and its address. The numbers are written to the bytes. */
typedef enum rni_kind { RNI_AGENT = 1, RNI_SERVER, RNI_TRAINER } rni_kind;

static uint64_t rni_fingerprint(rni_kind kind, const void *object) {
    if (kind == RNI_AGENT) return rni_agent_fingerprint((const rn_agent *)object);
    if (kind == RNI_SERVER) return rni_server_fingerprint((const rn_server *)object);
    return rni_trainer_fingerprint((const rn_trainer *)object);
}

static void rni_io_fields(rni_io *io, rni_kind kind, void *object) {
    if (kind == RNI_AGENT) (void)rni_io_agent(io, (rn_agent *)object);
    if (kind == RNI_SERVER) rni_io_server(io, (rn_server *)object);
    if (kind == RNI_TRAINER) rni_io_trainer(io, (rn_trainer *)object);
}

/* The envelope: magic and version, size of a number, kind, fingerprint, the fields, CRC-32 of all
   that. Whether the bytes are ours and whole is looked at before what they hold, so the CRC, though
   last, is checked first. */
#define RNI_MAGIC    ((uint64_t)0x3330475052534552u) /* "RESRPG03" in the order of the bytes */
#define RNI_ENVELOPE ((size_t)40)

static void rni_io_check_crc(rni_io *io) {
    if (!rni_io_reads(io) || io->status != RN_OK) return;
    if (io->size < RNI_ENVELOPE) {
        rni_io_refuse(io, RN_ERR_CORRUPT);
        return;
    }
    io->size -= 8;
    if (io->mode == RNI_CHECK && rni_get(io->from + io->size, 8) != rni_crc32(io->from, io->size))
        rni_io_refuse(io, RN_ERR_CORRUPT);
}

static rn_status rni_io_object(rni_io *io, rni_kind kind, void *object) {
    rni_io_expect(io, RNI_MAGIC, RN_ERR_FORMAT);
    rni_io_expect(io, sizeof(rn_real), RN_ERR_FORMAT);
    rni_io_check_crc(io);
    rni_io_expect(io, (uint64_t)kind, RN_ERR_MISMATCH);
    rni_io_expect(io, rni_fingerprint(kind, object), RN_ERR_MISMATCH);
    rni_io_fields(io, kind, object);
    if (!rni_io_reads(io))
        (void)rni_io_u64(io, io->mode == RNI_WRITE ? rni_crc32(io->to, io->at) : 0, 0, 0);
    else if (io->at != io->size)
        rni_io_refuse(io, RN_ERR_CORRUPT);
    return io->status;
}

/* The walk takes an address that it could write to, as loading does. Counting and writing change
   nothing, but have only the address of a const object: they get a copy of its struct, and no const
   is cast away. What the struct points to is shared. */
typedef union rni_copy {
    rn_agent agent;
    rn_server server;
    rn_trainer trainer;
} rni_copy;

static void rni_copy_make(rni_copy *copy, rni_kind kind, const void *object) {
    if (kind == RNI_AGENT) copy->agent = *(const rn_agent *)object;
    if (kind == RNI_SERVER) copy->server = *(const rn_server *)object;
    if (kind == RNI_TRAINER) copy->trainer = *(const rn_trainer *)object;
}

static size_t rni_save_size(rni_kind kind, const void *object) {
    rni_copy copy;
    rni_io io;
    if (!object) return 0;
    rni_copy_make(&copy, kind, object);
    memset(&io, 0, sizeof io);
    return rni_io_object(&io, kind, &copy) == RN_OK ? io.at : 0;
}

static rn_status rni_save(rni_kind kind, const void *object, void *bytes, size_t size) {
    rni_copy copy;
    rni_io io;
    if (!object) return RN_ERR_ARG;
    rni_copy_make(&copy, kind, object);
    memset(&io, 0, sizeof io);
    (void)rni_io_object(&io, kind, &copy);
    if (io.no_save) return RN_ERR_NO_SAVE;
    if (!bytes) return RN_ERR_ARG;
    if (io.status != RN_OK || size < io.at) return RN_ERR_MEMORY;
    io.mode = RNI_WRITE;
    io.to = (unsigned char *)bytes;
    io.size = io.at;
    io.at = 0;
    return rni_io_object(&io, kind, &copy);
}

/* one walk over the bytes */
static rni_io rni_load_walk(int mode, rni_kind kind, void *object, const void *bytes, size_t size,
                            size_t envs) {
    rni_io io;
    memset(&io, 0, sizeof io);
    io.mode = mode;
    io.from = (const unsigned char *)bytes;
    io.size = size;
    io.envs = envs;
    (void)rni_io_object(&io, kind, object);
    return io;
}

static rn_status rni_load(rni_kind kind, void *object, const void *bytes, size_t size) {
    rni_io io;
    if (!object || !bytes) return RN_ERR_ARG;
    io = rni_load_walk(RNI_CHECK, kind, object, bytes, size, 0);
    if (io.status != RN_OK) return io.status;
    if (io.no_save) return RN_ERR_NO_SAVE;
    io = rni_load_walk(RNI_LOAD_ENVS, kind, object, bytes, size, 0);
    if (io.status == RN_OK)
        (void)rni_load_walk(RNI_READ, kind, object, bytes, size, 0);
    else
        (void)rni_load_walk(RNI_UNDO_ENVS, kind, object, bytes, size, io.envs);
    return io.status;
}

RN_API size_t rn_agent_save_size(const rn_agent *a) { return rni_save_size(RNI_AGENT, a); }
RN_API size_t rn_server_save_size(const rn_server *s) { return rni_save_size(RNI_SERVER, s); }
RN_API size_t rn_trainer_save_size(const rn_trainer *t) { return rni_save_size(RNI_TRAINER, t); }

RN_API rn_status rn_agent_save(const rn_agent *a, void *bytes, size_t size) {
    return rni_save(RNI_AGENT, a, bytes, size);
}

RN_API rn_status rn_server_save(const rn_server *s, void *bytes, size_t size) {
    return rni_save(RNI_SERVER, s, bytes, size);
}

RN_API rn_status rn_trainer_save(const rn_trainer *t, void *bytes, size_t size) {
    return rni_save(RNI_TRAINER, t, bytes, size);
}

RN_API rn_status rn_agent_load(rn_agent *a, const void *bytes, size_t size) {
    return rni_load(RNI_AGENT, a, bytes, size);
}

RN_API rn_status rn_server_load(rn_server *s, const void *bytes, size_t size) {
    return rni_load(RNI_SERVER, s, bytes, size);
}

RN_API rn_status rn_trainer_load(rn_trainer *t, const void *bytes, size_t size) {
    return rni_load(RNI_TRAINER, t, bytes, size);
}

/* ---- 11b federation -------------------------------------------------------------------------- */

/* A message is nine words of 8 bytes, little-endian, then perhaps dim numbers, then a checksum:
     0  "RESFED" and the version, 2 bytes       5  dim
     1  the run, 16 bytes                       6  plan: 0; row: the checksum of the plan answered
     3  sender (4 bytes), kind (2), form (2)    7  a  join: policy; plan: eta; row: curvature
     4  round                                   8  b  join: method; row: scale of its numbers
   sender: the index of a peer, or RNI_HUB. form: bytes of a number (2, 4, 8), 0 where there are
   none. A refusal has its reason in a. How long a message is follows from kind, form and dim. */
#define RNI_WIRE_MAGIC   ((uint64_t)0x444546534552u) /* "RESFED" in the order of the bytes */
#define RNI_WIRE_VERSION 1u
#define RNI_WIRE_HEAD    ((size_t)72)
#define RNI_WIRE_LEAST   ((size_t)80)
#define RNI_HUB          0xffffffffu

enum { RNI_JOIN = 1, RNI_PLAN, RNI_ROW, RNI_LEAVE, RNI_REFUSAL, RNI_KINDS };

typedef struct rni_wire {
    uint64_t round, dim, answers, a, b;
    uint32_t sender, kind, form;
    const unsigned char *numbers;
} rni_wire;

RN_API const char *rn_reason_text(rn_reason r) {
#define RN_X(id, text)                                                                             \
    case id: return text;
    switch (r) { RN_REASON_LIST(RN_X) case RN_REASON_COUNT : break; }
#undef RN_X
    return "unknown reason";
}

/* Written out, so that compilers see one load or store of 8 bytes. */
AGGI_INLINE uint64_t rni_get8(const unsigned char *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

AGGI_INLINE uint32_t rni_get4(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

AGGI_INLINE void rni_put4(unsigned char *p, uint32_t x) {
    p[0] = (unsigned char)x;
    p[1] = (unsigned char)(x >> 8);
    p[2] = (unsigned char)(x >> 16);
    p[3] = (unsigned char)(x >> 24);
}

/* of an rn_real */
AGGI_INLINE void rni_put_word(unsigned char *p, uint64_t x) {
    rni_put4(p, (uint32_t)x);
    if (sizeof(rni_word) == 8) rni_put4(p + 4, (uint32_t)(x >> 32));
}

/* The checksum: words of 8 bytes, each stirred into one of four lanes. For a given word a stir is
   one to one, and so it is for a given state: what is changed within one word is found for certain,
   any other accident but one in 2^64. (CRC-32, as saved states have it, would take longer than the
   network.) */
AGGI_INLINE uint64_t rni_stir(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t rni_checksum(const unsigned char *p, size_t n) {
    uint64_t lane[4] = {1, 2, 3, 4}, h = n;
    size_t l;
    for (; n >= 32; n -= 32, p += 32)
        for (l = 0; l < 4; l++) lane[l] = rni_stir(lane[l], rni_get8(p + 8 * l));
    for (l = 0; l < 4; l++) h = rni_stir(h, lane[l]);
    for (; n >= 8; n -= 8, p += 8) h = rni_stir(h, rni_get8(p));
    return rni_stir(h, rni_get(p, n));
}

/* IEEE's 16 bits: 1 of sign, 5 of exponent, 10 of fraction. To the nearest, ties to even; what is
   beyond the range to its end, 65504. What is not finite becomes a NaN. */
static uint32_t rni_half_from(double x) {
    const uint32_t sign = (uint32_t)(aggi_bits(x) >> 63) << 15;
    const double size = x < 0 ? -x : x;
    const int power = (int)(aggi_bits(x) >> 52 & 0x7ffu) - 1023, e = power < -14 ? -14 : power;
    double units;
    uint32_t whole;
    if (!aggi_finite(x)) return 0x7e00u;
    if (size >= 65504) return sign | 0x7bffu;
    units = size * aggi_from_bits((uint64_t)(1023 + 10 - e) << 52);
    whole = (uint32_t)units;
    units -= (double)whole;
    if (units > 0.5 || (units == 0.5 && whole % 2)) whole++;
    return sign | (((uint32_t)(e + 14) << 10) + whole); /* a carry goes where it belongs */
}

static double rni_half_to(uint32_t h) {
    const uint32_t e = h >> 10 & 31u, fraction = h & 1023u;
    const double unit = aggi_from_bits((uint64_t)(1023 - 25 + (e ? e : 1)) << 52);
    const double size = (double)(e ? 1024 + fraction : fraction) * unit;
    const double odd = aggi_from_bits(fraction ? AGGI_NAN : AGGI_INF);
    return (e == 31 ? odd : size) * (h >> 15 ? -1.0 : 1.0);
}

/* a number in `form` bytes, times scale if they are 2 */
static double rni_number_at(const rni_wire *w, size_t i, double scale) {
    const unsigned char *p = w->numbers + i * w->form;
    if (w->form == 4) {
        const uint32_t bits = rni_get4(p);
        float x;
        memcpy(&x, &bits, sizeof x);
        return (double)x;
    }
    return w->form == 8 ? aggi_from_bits(rni_get8(p))
                        : rni_half_to((uint32_t)p[0] | (uint32_t)p[1] << 8) * scale;
}

/* what is finite stays so */
AGGI_INLINE rn_real rni_real_from(double x) {
    if (aggi_finite(x) && x > AGGI_REAL_MAX) return (rn_real)AGGI_REAL_MAX;
    return aggi_finite(x) && x < -AGGI_REAL_MAX ? (rn_real)-AGGI_REAL_MAX : (rn_real)x;
}

static void rni_get_numbers(const rni_wire *w, double scale, rn_real *x) {
    const size_t n = (size_t)w->dim;
    size_t i;
    if (w->form == sizeof *x)
        for (i = 0; i < n; i++) {
            const rni_word bits = (rni_word)(sizeof *x == 4 ? rni_get4(w->numbers + 4 * i)
                                                            : rni_get8(w->numbers + 8 * i));
            memcpy(&x[i], &bits, sizeof bits);
        }
    else
        for (i = 0; i < n; i++) x[i] = rni_real_from(rni_number_at(w, i, scale));
}

/* of a plan: 4 or 8 bytes each, told by the upper 4 */
static int rni_numbers_finite(const rni_wire *w) {
    const size_t step = w->form, last = step - 4;
    const uint32_t top = step == 4 ? 0x7f800000u : 0x7ff00000u; /* exponent of NaN and Inf */
    size_t i, odd = 0;
    for (i = 0; i < (size_t)w->dim; i++)
        odd += (rni_get4(w->numbers + i * step + last) & top) == top;
    return !odd;
}

static void rni_put_reals(unsigned char *to, const rn_real *x, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        rni_word bits;
        memcpy(&bits, &x[i], sizeof bits);
        rni_put_word(to + i * sizeof bits, bits);
    }
}

/* The scale is the power of two that brings the largest number to 2^14 .. 2^15: the exponents of 16
   bits, which are few, serve the numbers that count. Returns it. */
static double rni_put_halves(unsigned char *to, const rn_real *x, size_t n) {
    double most = 0, up;
    size_t i;
    int power;
    for (i = 0; i < n; i++) {
        const double size = x[i] < 0 ? -(double)x[i] : (double)x[i];
        if (size > most) most = size;
    }
    power = 14 - ((int)(aggi_bits(most) >> 52) - 1023);
    power = most > 0 ? (power > 1022 ? 1022 : power) : 0;
    up = aggi_from_bits((uint64_t)(1023 + power) << 52);
    for (i = 0; i < n; i++) rni_put(to + 2 * i, rni_half_from((double)x[i] * up), 2);
    return aggi_from_bits((uint64_t)(1023 - power) << 52);
}

/* bytes of the numbers of a message; 0 too where there are none */
static size_t rni_numbers_size(const rni_wire *w) { return (size_t)w->form * (size_t)w->dim; }

/* Head and checksum around the numbers, which are there. Returns the bytes of it all. */
static size_t rni_seal(unsigned char *to, const unsigned char *run, const rni_wire *w) {
    const size_t size = RNI_WIRE_HEAD + rni_numbers_size(w);
    rni_put(to, RNI_WIRE_MAGIC | (uint64_t)RNI_WIRE_VERSION << 48, 8);
    memcpy(to + 8, run, 16);
    rni_put(to + 24, w->sender, 4);
    rni_put(to + 28, w->kind | w->form << 16, 4);
    rni_put(to + 32, w->round, 8);
    rni_put(to + 40, w->dim, 8);
    rni_put(to + 48, w->answers, 8);
    rni_put(to + 56, w->a, 8);
    rni_put(to + 64, w->b, 8);
    rni_put(to + size, rni_checksum(to, size), 8);
    return size + 8;
}

static uint64_t rni_seal_of(const unsigned char *message, size_t size) {
    return rni_get8(message + size - 8);
}

/* a message that is only a head */
static rni_wire rni_wire_make(uint32_t sender, uint32_t kind) {
    rni_wire w;
    memset(&w, 0, sizeof w);
    w.sender = sender;
    w.kind = kind;
    return w;
}

static int rni_same_bytes(const unsigned char *x, const unsigned char *y, size_t n) {
    unsigned differ = 0;
    while (n--) differ |= (unsigned)(*x++ ^ *y++);
    return !differ;
}

/* numbers go with plans and rows: 2 bytes (not theta), 4 or 8 */
static int rni_form_ok(const rni_wire *w) {
    if (w->kind != RNI_PLAN && w->kind != RNI_ROW) return w->form == 0;
    return w->form == 4 || w->form == 8 || (w->form == 2 && w->kind == RNI_ROW);
}

static int rni_length_ok(const rni_wire *w, size_t size) {
    const uint64_t left = size - RNI_WIRE_LEAST;
    return w->form ? left % w->form == 0 && left / w->form == w->dim : left == 0;
}

/* Everything about a message that can be said without knowing who reads it. */
static rn_reason rni_unseal(const unsigned char *p, size_t size, const unsigned char *run,
                            rni_wire *w) {
    if (size < RNI_WIRE_LEAST) return RN_REFUSED_LENGTH;
    if ((rni_get8(p) & 0xffffffffffffu) != RNI_WIRE_MAGIC) return RN_REFUSED_MAGIC;
    if (rni_get8(p) >> 48 != RNI_WIRE_VERSION) return RN_REFUSED_VERSION;
    if (rni_checksum(p, size - 8) != rni_seal_of(p, size)) return RN_REFUSED_DAMAGED;
    if (!rni_same_bytes(p + 8, run, 16)) return RN_REFUSED_RUN;
    w->sender = rni_get4(p + 24);
    w->kind = rni_get4(p + 28) & 0xffffu;
    w->form = rni_get4(p + 28) >> 16;
    w->round = rni_get8(p + 32);
    w->dim = rni_get8(p + 40);
    w->answers = rni_get8(p + 48);
    w->a = rni_get8(p + 56);
    w->b = rni_get8(p + 64);
    w->numbers = p + RNI_WIRE_HEAD;
    if (!w->kind || w->kind >= RNI_KINDS) return RN_REFUSED_KIND;
    if (!rni_form_ok(w)) return RN_REFUSED_FORM;
    return rni_length_ok(w, size) ? RN_ACCEPTED : RN_REFUSED_LENGTH;
}

RN_API size_t rn_message_size(size_t dim) {
    return dim < ((size_t)-1 - RNI_WIRE_LEAST) / 8 ? RNI_WIRE_LEAST + 8 * dim : 0;
}

RN_API size_t rn_message_sender(const void *bytes, size_t size) {
    const unsigned char *p = (const unsigned char *)bytes;
    const uint32_t sender = p && size >= RNI_WIRE_LEAST ? rni_get4(p + 24) : RNI_HUB;
    return sender == RNI_HUB ? (size_t)-1 : sender;
}

/* The two that must agree for an agent to be taken. Options are compared with their defaults. */
typedef struct rni_prints {
    uint64_t policy, method;
} rni_prints;

static rni_prints rni_prints_make(const rn_policy *p, const rn_method *m) {
    rn_agent_desc d;
    rni_prints r;
    memset(&d, 0, sizeof d);
    d.method = *m;
    rni_agent_defaults(&d);
    r.policy = rni_hash_policy(RNI_HASH_START, p);
    r.method = rni_hash_method(RNI_HASH_START, &d.method);
    return r;
}

/* A saved side: magic, run, two words, a saved server or agent, checksum. */
#define RNI_SAVED_HUB  ((uint64_t)0x3230425548534552u) /* "RESHUB02" in the order of the bytes */
#define RNI_SAVED_PEER ((uint64_t)0x3130524545504552u) /* "REPEER01" */
#define RNI_SAVED_HEAD ((size_t)40)

typedef struct rni_saved {
    uint64_t magic, a, b;
    const unsigned char *run;
} rni_saved;

static void rni_saved_write(const rni_saved *s, unsigned char *to, size_t inner) {
    rni_put(to, s->magic, 8);
    memcpy(to + 8, s->run, 16);
    rni_put(to + 24, s->a, 8);
    rni_put(to + 32, s->b, 8);
    rni_put(to + RNI_SAVED_HEAD + inner, rni_checksum(to, RNI_SAVED_HEAD + inner), 8);
}

/* b is not known yet: it is read */
static rn_status rni_saved_read(rni_saved *s, const unsigned char *p, size_t size) {
    if (size < RNI_SAVED_HEAD + 8) return RN_ERR_CORRUPT;
    if (rni_get8(p) != s->magic) return RN_ERR_FORMAT;
    if (rni_checksum(p, size - 8) != rni_seal_of(p, size)) return RN_ERR_CORRUPT;
    if (!rni_same_bytes(p + 8, s->run, 16) || rni_get8(p + 24) != s->a) return RN_ERR_MISMATCH;
    s->b = rni_get8(p + 32);
    return RN_OK;
}

/* ---- the server's side */

/* what the hub knows of a peer */
typedef struct rni_member {
    rn_peer_report report;
    int left;              /* it said goodbye */
    int owes_plan;         /* it is to be sent the plan ... */
    rn_reason owes_reason; /* ... and before that why a message was refused */
    size_t sent_round;     /* the last plan that it was sent, ... */
    uint64_t sent_at;      /* ... and when */
    size_t row_round;      /* what its row answers; 0: there is none */
} rni_member;

struct rn_hub {
    rn_hub_desc desc;
    rn_server *server;
    rni_prints prints;
    size_t quorum, fresh;
    int ticking; /* the first tick was */
    uint64_t now, began;
    size_t next; /* the peer whose turn it is to be sent something */
    rni_member *member;
    rn_real *row;         /* n rows: the last of each peer */
    double *curvature;    /* beside them */
    const rn_real **rows; /* those of an update, ... */
    unsigned char *late;  /* ... and who is late */
    unsigned char *old;   /* ... or whose row is of an earlier round */
    unsigned char *plan;  /* the message: the same for all */
    size_t plan_size;
    unsigned char refusal[80];
};

RN_API rn_hub_desc rn_make_hub_desc(const rn_trainer_desc *recipe) {
    rn_hub_desc d;
    memset(&d, 0, sizeof d);
    d.server = rni_trainer_server_desc(recipe);
    d.policy = recipe->policy;
    d.method = recipe->method;
    if (d.server.kl > 0) d.method.curvature = 1;
    return d;
}

static rn_server_desc rni_hub_server_desc(const rn_hub_desc *d) {
    rn_server_desc s = d->server;
    if (!s.dim) s.dim = d->policy.dim;
    return s;
}

/* clang-format off */
static rn_status rni_hub_check(const rn_hub_desc *d, rni_complaint *c) {
    const rn_server_desc s = rni_hub_server_desc(d);
    const rni_check list[] = {
        {s.n >= RNI_HUB || !rn_message_size(s.dim) || !aggi_product_fits(s.n, s.dim), RN_ERR_SIZE,
         "server.n is #, server.dim is #: sizes overflow", {(double)s.n, (double)s.dim}},
        {d->policy.dim && d->policy.dim != s.dim, RN_ERR_DESC,
         "server.dim is #, policy.dim is #: they are the same, or one is 0",
         {(double)s.dim, (double)d->policy.dim}},
        {d->quorum > s.n, RN_ERR_DESC,
         "quorum is #: there are # peers (server.n)", {(double)d->quorum, (double)s.n}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* clang-format on */

static void rni_hub_layout_arrays(rn_hub *g, aggi_arena *a, size_t n, size_t dim) {
    g->member = (rni_member *)aggi_take(a, n, sizeof *g->member);
    g->row = aggi_take_real(a, n * dim);
    g->curvature = aggi_take_f64(a, n);
    g->rows = (const rn_real **)aggi_take(a, n, sizeof *g->rows);
    g->late = (unsigned char *)aggi_take(a, n, 1);
    g->old = (unsigned char *)aggi_take(a, n, 1);
    g->plan = (unsigned char *)aggi_take(a, 1, RNI_WIRE_LEAST + dim * sizeof(rn_real));
}

/* *out NULL: counted only, or too little memory */
static rn_status rni_hub_place(const rn_hub_desc *d, aggi_arena *a, rn_hub **out,
                               rni_complaint *c) {
    const rn_server_desc server = rni_hub_server_desc(d);
    rn_hub *hub, g;
    rn_status s = rni_hub_check(d, c);
    *out = NULL;
    if (s != RN_OK) return s;
    memset(&g, 0, sizeof g);
    g.desc = *d;
    hub = (rn_hub *)aggi_take(a, 1, sizeof *hub);
    rni_hub_layout_arrays(&g, a, server.n, server.dim);
    s = rni_server_place(server, a, &g.server, c);
    if (s != RN_OK || !rni_arena_holds(a)) return s;
    *hub = g;
    *out = hub;
    return s;
}

/* the fewest rows that the rule takes f of */
static size_t rni_least_rows(const rn_server_desc *d) {
    rn_server_desc fewer = *d;
    size_t n = 2 * d->agg.f + 1;
    fewer.agg.pivot = fewer.agg.q = 0;
    for (; n < d->n && !d->aggregate; n++) {
        fewer.agg.n = n;
        if (rni_server_scratch_size(&fewer)) break;
    }
    return n < d->n ? n : d->n;
}

/* how many rows of a quorum must be of the round itself */
static size_t rni_hub_fresh(const rn_hub *h) {
    const size_t least = h->server->desc.agg.f + 1;
    const size_t wanted = h->desc.fresh > least ? h->desc.fresh : least;
    return h->desc.fresh && wanted < h->quorum ? wanted : h->quorum;
}

static void rni_hub_write_plan(rn_hub *h) {
    const rn_plan plan = rn_server_plan(h->server);
    const size_t dim = h->server->desc.dim;
    rni_wire w = rni_wire_make(RNI_HUB, RNI_PLAN);
    w.form = sizeof *plan.theta;
    w.dim = dim;
    w.round = plan.round;
    w.a = aggi_bits(plan.eta);
    rni_put_reals(h->plan + RNI_WIRE_HEAD, plan.theta, dim);
    h->plan_size = rni_seal(h->plan, h->desc.run, &w);
}

static void rni_hub_show_evidence(rn_hub *h) {
    const double *evidence = rn_server_evidence(h->server);
    size_t i;
    for (i = 0; evidence && i < h->server->desc.n; i++) h->member[i].report.evidence = evidence[i];
}

/* Nobody is here, after a start and after a state was loaded; who may be is told, unless there is
   nothing to tell. */
static void rni_hub_clear(rn_hub *h, rn_reason why) {
    size_t i;
    h->ticking = 0;
    for (i = 0; i < h->server->desc.n; i++) {
        rni_member *m = &h->member[i];
        m->report.joined = m->left = m->owes_plan = 0;
        m->owes_reason = why;
        m->sent_round = m->row_round = 0;
        m->report.age = (size_t)-1;
    }
    rni_hub_show_evidence(h);
    rni_hub_write_plan(h);
}

static rn_status rni_hub_init(rn_hub *h) {
    rn_hub_desc *d = &h->desc;
    const int has_theta = d->server.theta != NULL;
    rn_status s = RN_OK;
    rni_server_init(h->server);
    if (!has_theta) s = rni_init_theta(&d->policy, d->server.seed, h->server);
    if (s != RN_OK) return s;
    h->prints = rni_prints_make(&d->policy, &d->method);
    h->quorum = rni_least_rows(&h->server->desc);
    if (d->quorum > h->quorum) h->quorum = d->quorum;
    h->fresh = rni_hub_fresh(h);
    memset(h->member, 0, h->server->desc.n * sizeof *h->member);
    d->server.theta = NULL;
    d->server.agg.start = NULL;
    rni_hub_clear(h, RN_ACCEPTED);
    return RN_OK;
}

static rn_status rni_hub_count(const rn_hub_desc *d, size_t *size) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    rn_hub *none;
    const rn_status s = rni_hub_place(d, &a, &none, &unsaid);
    *size = s == RN_OK ? aggi_arena_size(&a) : 0;
    return s;
}

RN_API size_t rn_hub_size(const rn_hub_desc *d) {
    size_t size = 0;
    if (d) (void)rni_hub_count(d, &size);
    return size;
}

RN_API rn_status rn_hub_init(rn_hub **hub, const rn_hub_desc *d, void *memory, size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rni_complaint unsaid;
    rn_hub *h = NULL;
    size_t least;
    rn_status s;
    if (!hub || !d || !memory) return RN_ERR_ARG;
    s = rni_hub_count(d, &least);
    if (s != RN_OK) return s;
    if (size < least) return RN_ERR_MEMORY;
    (void)rni_hub_place(d, &a, &h, &unsaid);
    s = rni_hub_init(h);
    if (s == RN_OK) *hub = h;
    return s;
}

/* dim is that of all messages but goodbyes */
static rn_reason rni_hub_join(rn_hub *h, size_t from, const rni_wire *w) {
    rni_member *m = &h->member[from];
    if (w->dim != h->server->desc.dim) return RN_REFUSED_DIM;
    if (h->desc.policy.dim && w->a != h->prints.policy) return RN_REFUSED_POLICY;
    if (h->desc.policy.dim && w->b != h->prints.method) return RN_REFUSED_METHOD;
    m->report.joined = m->owes_plan = 1;
    m->left = 0;
    return RN_ACCEPTED;
}

static rn_reason rni_hub_leave(rn_hub *h, size_t from, const rni_wire *w) {
    rni_member *m = &h->member[from];
    (void)w;
    if (!m->report.joined) return RN_REFUSED_STRANGER;
    m->report.joined = m->owes_plan = 0;
    m->left = 1;
    return RN_ACCEPTED;
}

/* The first row of a round counts. One of a round before is kept if it is newer than what there is,
   and not older than may be. */
static rn_reason rni_hub_judge_row(const rn_hub *h, const rni_member *m, const rni_wire *w) {
    const size_t now = h->server->t;
    if (!m->report.joined) return RN_REFUSED_STRANGER;
    if (w->dim != h->server->desc.dim) return RN_REFUSED_DIM;
    if (w->round > now) return RN_REFUSED_FUTURE;
    if (now - w->round > h->desc.stale || w->round < m->row_round) return RN_REFUSED_PAST;
    if (w->round == m->row_round) return RN_REFUSED_AGAIN;
    if (w->round == now && w->answers != rni_seal_of(h->plan, h->plan_size)) return RN_REFUSED_PLAN;
    return RN_ACCEPTED;
}

static rn_reason rni_hub_row(rn_hub *h, size_t from, const rni_wire *w) {
    rni_member *m = &h->member[from];
    const rn_reason why = rni_hub_judge_row(h, m, w);
    if (why != RN_ACCEPTED) return why;
    rni_get_numbers(w, aggi_from_bits(w->b), h->row + from * h->server->desc.dim);
    h->curvature[from] = aggi_from_bits(w->a);
    m->row_round = (size_t)w->round;
    if (m->row_round == h->server->t)
        RNI_UP(m->report.rows, uint64_t);
    else
        RNI_UP(m->report.stale, uint64_t);
    return RN_ACCEPTED;
}

static rn_reason rni_hub_take(rn_hub *h, size_t from, const unsigned char *bytes, size_t size) {
    rni_wire w;
    const rn_reason why = rni_unseal(bytes, size, h->desc.run, &w);
    if (why != RN_ACCEPTED) return why;
    if (w.sender != from) return RN_REFUSED_SENDER;
    switch (w.kind) {
    case RNI_JOIN: return rni_hub_join(h, from, &w);
    case RNI_ROW: return rni_hub_row(h, from, &w);
    case RNI_LEAVE: return rni_hub_leave(h, from, &w);
    default: return RN_REFUSED_KIND;
    }
}

RN_API rn_reason rn_hub_receive(rn_hub *h, size_t from, const void *bytes, size_t size) {
    rn_reason why;
    rni_member *m;
    if (!h || !bytes) return RN_REFUSED_LENGTH;
    if (from >= h->server->desc.n) return RN_REFUSED_SENDER;
    m = &h->member[from];
    why = rni_hub_take(h, from, (const unsigned char *)bytes, size);
    RNI_UP(m->report.messages[why], uint64_t);
    if (why == RN_ACCEPTED)
        m->report.last_seen = h->now;
    else
        m->owes_reason = why;
    return why;
}

static void rni_hub_write_refusal(rn_hub *h, rn_reason why) {
    rni_wire w = rni_wire_make(RNI_HUB, RNI_REFUSAL);
    w.round = h->server->t;
    w.a = (uint64_t)why;
    (void)rni_seal(h->refusal, h->desc.run, &w);
}

static int rni_hub_may_send_plan(const rn_hub *h, const rni_member *m) {
    if (!m->owes_plan) return 0;
    return m->sent_round != h->server->t || h->now - m->sent_at >= h->desc.resend;
}

static int rni_hub_letter(rn_hub *h, rni_member *m, rn_letter *letter) {
    if (m->owes_reason != RN_ACCEPTED) {
        rni_hub_write_refusal(h, m->owes_reason);
        m->owes_reason = RN_ACCEPTED;
        letter->bytes = h->refusal;
        letter->size = sizeof h->refusal;
        return 1;
    }
    if (!rni_hub_may_send_plan(h, m)) return 0;
    m->owes_plan = 0;
    m->sent_round = h->server->t;
    m->sent_at = h->now;
    letter->bytes = h->plan;
    letter->size = h->plan_size;
    return 1;
}

/* All peers in turn, so that none waits for another that asks and asks. */
RN_API int rn_hub_next(rn_hub *h, rn_letter *letter) {
    size_t k;
    if (!h || !letter) return 0;
    for (k = 0; k < h->server->desc.n; k++) {
        const size_t i = h->next;
        h->next = i + 1 < h->server->desc.n ? i + 1 : 0;
        letter->to = i;
        if (rni_hub_letter(h, &h->member[i], letter)) return 1;
    }
    return 0;
}

/* there is a row, and it is not too old */
static int rni_hub_is_usable(const rn_hub *h, size_t i) {
    const size_t round = h->member[i].row_round;
    return round && h->server->t - round <= h->desc.stale;
}

static int rni_hub_is_fresh(const rn_hub *h, size_t i) {
    return h->member[i].row_round == h->server->t;
}

RN_API size_t rn_hub_rows_in(const rn_hub *h) {
    size_t i, rows = 0;
    for (i = 0; h && i < h->server->desc.n; i++)
        if (rni_hub_is_fresh(h, i)) rows++;
    return rows;
}

/* A quorum, and nobody to wait for or patience over? Who left is not waited for. */
static int rni_hub_is_ready(const rn_hub *h) {
    size_t i, missing = 0, usable = 0;
    for (i = 0; i < h->server->desc.n; i++)
        if (rni_hub_is_usable(h, i)) usable++;
    if (usable < h->quorum || rn_hub_rows_in(h) < h->fresh) return 0;
    if (h->desc.patience && h->now - h->began >= h->desc.patience) return 1;
    for (i = 0; i < h->server->desc.n; i++)
        if (!rni_hub_is_fresh(h, i) && !h->member[i].left) missing++;
    return !missing;
}

/* whose rows are in the update, and how old they are */
static void rni_hub_collect(rn_hub *h) {
    const size_t t = h->server->t, dim = h->server->desc.dim;
    size_t i;
    for (i = 0; i < h->server->desc.n; i++) {
        rni_member *m = &h->member[i];
        const int use = rni_hub_is_usable(h, i);
        m->report.age = use ? t - m->row_round : (size_t)-1;
        h->rows[i] = use ? h->row + i * dim : NULL;
        h->late[i] = !use;
        h->old[i] = m->row_round != t;
        if (m->report.joined && m->row_round != t) RNI_UP(m->report.late, uint64_t);
    }
}

/* the next round begins: everybody who is here gets its plan */
static void rni_hub_begin(rn_hub *h, const rn_progress *p) {
    size_t i;
    for (i = 0; i < h->server->desc.n; i++) {
        rni_member *m = &h->member[i];
        m->owes_plan = m->report.joined;
        if (!p || !p->weight) continue;
        m->report.weight = p->weight[i];
        m->report.suspicion = p->suspicion[i];
    }
    h->began = h->now;
    rni_hub_show_evidence(h);
    rni_hub_write_plan(h);
}

RN_API rn_status rn_hub_tick(rn_hub *h, uint64_t now, rn_progress *progress) {
    rn_arrivals a;
    rn_status s;
    if (!h) return RN_ERR_ARG;
    if (now > h->now) h->now = now;
    if (!h->ticking) h->began = h->now;
    h->ticking = 1;
    if (!rni_hub_is_ready(h)) return RN_MORE;
    rni_hub_collect(h);
    a.rows = h->rows;
    a.curvature = h->curvature;
    a.late = h->late;
    a.stale = h->old;
    s = rn_server_update_from(h->server, &a, progress);
    if (s != RN_OK) rn_server_skip_round(h->server);
    rni_hub_begin(h, progress);
    return s;
}

RN_API rn_server *rn_hub_server(rn_hub *h) { return h ? h->server : NULL; }
RN_API size_t rn_hub_quorum(const rn_hub *h) { return h ? h->quorum : 0; }

RN_API const rn_peer_report *rn_hub_report(const rn_hub *h, size_t peer) {
    return h && peer < h->server->desc.n ? &h->member[peer].report : NULL;
}

static rni_saved rni_hub_saved(const rn_hub *h) {
    rni_saved s;
    s.magic = RNI_SAVED_HUB;
    s.run = h->desc.run;
    s.a = h->server->desc.n;
    s.b = 0;
    return s;
}

RN_API size_t rn_hub_save_size(const rn_hub *h) {
    return h ? RNI_SAVED_HEAD + h->server->desc.n + rn_server_save_size(h->server) + 8 : 0;
}

RN_API rn_status rn_hub_save(const rn_hub *h, void *bytes, size_t size) {
    unsigned char *to = (unsigned char *)bytes;
    rni_saved saved;
    size_t i, n, inner;
    if (!h || !bytes) return RN_ERR_ARG;
    n = h->server->desc.n;
    if (size < rn_hub_save_size(h)) return RN_ERR_MEMORY;
    saved = rni_hub_saved(h);
    inner = rn_server_save_size(h->server);
    for (i = 0; i < n; i++) to[RNI_SAVED_HEAD + i] = (unsigned char)h->member[i].left;
    (void)rn_server_save(h->server, to + RNI_SAVED_HEAD + n, inner);
    rni_saved_write(&saved, to, n + inner);
    return RN_OK;
}

RN_API rn_status rn_hub_load(rn_hub *h, const void *bytes, size_t size) {
    const unsigned char *p = (const unsigned char *)bytes;
    rni_saved saved;
    size_t i, n;
    rn_status s;
    if (!h || !bytes) return RN_ERR_ARG;
    saved = rni_hub_saved(h);
    n = h->server->desc.n;
    s = rni_saved_read(&saved, p, size);
    if (s == RN_OK && size < RNI_SAVED_HEAD + n + 8) s = RN_ERR_CORRUPT;
    if (s == RN_OK)
        s = rn_server_load(h->server, p + RNI_SAVED_HEAD + n, size - RNI_SAVED_HEAD - n - 8);
    if (s != RN_OK) return s;
    rni_hub_clear(h, RN_REFUSED_STRANGER);
    for (i = 0; i < n; i++) h->member[i].left = p[RNI_SAVED_HEAD + i] != 0;
    return s;
}

/* ---- the agent's side */

struct rn_peer {
    rn_peer_desc desc;
    rn_agent *agent;
    rni_prints prints;
    uint64_t now, heard; /* when a message was accepted, or a join sent, last */
    int joined;          /* a plan came since the last join */
    int left;
    int owes_join, owes_row, owes_leave;
    rn_reason refusal;
    size_t newest;      /* number of the last plan that came */
    int waiting;        /* it is not begun yet: ... */
    uint64_t plan_seal; /* ... its checksum, ... */
    double eta;
    rn_real *theta;    /* ... and dim numbers */
    int busy;          /* the agent is at the plan with ... */
    uint64_t seal;     /* ... this checksum, ... */
    uint64_t row_seal; /* ... and d answers the one with this */
    rn_real *row;      /* what is sent for d, if it is altered, ... */
    int altered;       /* ... which it is once: noise drawn anew could be averaged away */
    unsigned char *out;
};

RN_API rn_peer_desc rn_make_peer_desc(const rn_trainer_desc *recipe, size_t index, rn_env env) {
    rn_trainer_desc one = *recipe;
    rn_peer_desc d;
    memset(&d, 0, sizeof d);
    one.envs = &env;
    one.make_env = NULL;
    one.rngs = NULL;
    d.agent = rni_trainer_agent_desc(&one, 0, RN_ATTACK_NONE);
    d.agent.stream = (uint32_t)index;
    d.index = index;
    return d;
}

/* clang-format off */
static rn_status rni_peer_check(const rn_peer_desc *d, rni_complaint *c) {
    const size_t dim = d->agent.policy.dim;
    const rni_check list[] = {
        {d->index >= RNI_HUB, RN_ERR_SIZE,
         "index is #: it is below #", {(double)d->index, (double)RNI_HUB}},
        {!rn_message_size(dim), RN_ERR_SIZE,
         "agent.policy.dim is #: the size of a message overflows", {(double)dim}}};
    return RNI_FIRST_FAILURE(list, c);
}

/* clang-format on */

/* *out NULL: counted only, or too little memory */
static rn_status rni_peer_place(const rn_peer_desc *d, aggi_arena *a, rn_peer **out,
                                rni_complaint *c) {
    const size_t dim = d->agent.policy.dim;
    rn_peer *peer, g;
    rn_status s = rni_peer_check(d, c);
    *out = NULL;
    if (s != RN_OK) return s;
    memset(&g, 0, sizeof g);
    g.desc = *d;
    peer = (rn_peer *)aggi_take(a, 1, sizeof *peer);
    g.theta = aggi_take_real(a, dim);
    g.row = aggi_take_real(a, dim);
    g.out = (unsigned char *)aggi_take(a, 1, RNI_WIRE_LEAST + dim * sizeof(rn_real));
    s = rni_agent_place(d->agent, a, &g.agent, c);
    if (s != RN_OK || !rni_arena_holds(a)) return s;
    *peer = g;
    *out = peer;
    return s;
}

static rn_status rni_peer_count(const rn_peer_desc *d, size_t *size) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    rn_peer *none;
    const rn_status s = rni_peer_place(d, &a, &none, &unsaid);
    *size = s == RN_OK ? aggi_arena_size(&a) : 0;
    return s;
}

RN_API size_t rn_peer_size(const rn_peer_desc *d) {
    size_t size = 0;
    if (d) (void)rni_peer_count(d, &size);
    return size;
}

RN_API rn_status rn_peer_init(rn_peer **peer, const rn_peer_desc *d, void *memory, size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rni_complaint unsaid;
    rn_peer *p = NULL;
    size_t least;
    rn_status s;
    if (!peer || !d || !memory) return RN_ERR_ARG;
    s = rni_peer_count(d, &least);
    if (s != RN_OK) return s;
    if (size < least) return RN_ERR_MEMORY;
    s = rni_peer_place(d, &a, &p, &unsaid);
    if (!p) return s == RN_OK ? RN_ERR_MEMORY : s; /* callbacks gave other sizes before */
    rni_agent_init(p->agent);
    p->prints = rni_prints_make(&d->agent.policy, &d->agent.method);
    p->owes_join = 1;
    *peer = p;
    return RN_OK;
}

/* A plan is taken if it is not older than the last; after a join the first one is, whatever its
   number: the server may have gone back to a state that it saved. */
static rn_reason rni_peer_judge_plan(const rn_peer *p, const rni_wire *w) {
    if (p->left) return RN_REFUSED_STRANGER;
    if (w->dim != p->agent->policy.dim) return RN_REFUSED_DIM;
    if (!w->round || w->round > RNI_MOST(size_t)) return RN_REFUSED_NUMBERS;
    if (p->joined && w->round < p->newest) return RN_REFUSED_PAST;
    if (!aggi_within(aggi_from_bits(w->a), 0, 1)) return RN_REFUSED_NUMBERS;
    return rni_numbers_finite(w) ? RN_ACCEPTED : RN_REFUSED_NUMBERS;
}

/* one that the agent is at already is not kept a second time */
static rn_reason rni_peer_plan(rn_peer *p, const rni_wire *w, uint64_t seal) {
    const rn_reason why = rni_peer_judge_plan(p, w);
    if (why != RN_ACCEPTED) return why;
    p->joined = 1;
    p->refusal = RN_ACCEPTED;
    p->newest = (size_t)w->round;
    p->waiting = !(p->busy && seal == p->seal);
    if (!p->waiting) return RN_ACCEPTED;
    rni_get_numbers(w, 1, p->theta);
    p->eta = aggi_from_bits(w->a);
    p->plan_seal = seal;
    return RN_ACCEPTED;
}

static rn_reason rni_peer_told(rn_peer *p, const rni_wire *w) {
    p->refusal = w->a < RN_REASON_COUNT ? (rn_reason)w->a : RN_REASON_COUNT;
    if (p->refusal == RN_REFUSED_STRANGER && !p->left) {
        p->owes_join = 1;
        p->joined = 0;
    }
    return RN_ACCEPTED;
}

static rn_reason rni_peer_take(rn_peer *p, const unsigned char *bytes, size_t size) {
    rni_wire w;
    const rn_reason why = rni_unseal(bytes, size, p->desc.run, &w);
    if (why != RN_ACCEPTED) return why;
    if (w.sender != RNI_HUB) return RN_REFUSED_SENDER;
    switch (w.kind) {
    case RNI_PLAN: return rni_peer_plan(p, &w, rni_seal_of(bytes, size));
    case RNI_REFUSAL: return rni_peer_told(p, &w);
    default: return RN_REFUSED_KIND;
    }
}

RN_API rn_reason rn_peer_receive(rn_peer *p, const void *bytes, size_t size) {
    rn_reason why;
    if (!p || !bytes) return RN_REFUSED_LENGTH;
    why = rni_peer_take(p, (const unsigned char *)bytes, size);
    if (why == RN_ACCEPTED) p->heard = p->now;
    return why;
}

/* the clock, and whether the silence has lasted too long */
static void rni_peer_clock(rn_peer *p, uint64_t now) {
    if (now > p->now) p->now = now;
    if (!p->desc.retry || p->left || p->now - p->heard < p->desc.retry) return;
    p->owes_join = 1;
    p->joined = 0;
    p->heard = p->now;
}

/* The agent begins the plan that waits. */
static rn_status rni_peer_begin(rn_peer *p) {
    rn_plan plan;
    rn_status s;
    plan.theta = p->theta;
    plan.eta = p->eta;
    plan.round = p->newest;
    p->waiting = 0;
    s = rn_agent_begin_plan(p->agent, &plan);
    p->busy = s == RN_OK;
    p->seal = p->plan_seal;
    return s;
}

RN_API rn_status rn_peer_tick(rn_peer *p, uint64_t now, size_t budget, size_t *used) {
    rn_status s = RN_OK;
    if (used) *used = 0;
    if (!p) return RN_ERR_ARG;
    rni_peer_clock(p, now);
    if (p->waiting && !p->busy) s = rni_peer_begin(p);
    if (!p->busy) return s;
    s = rn_agent_tick(p->agent, budget, used);
    if (s == RN_MORE) return s;
    p->busy = 0;
    if (s != RN_OK) return s;
    if (!p->agent->again) p->altered = 0;
    p->owes_row = !p->left; /* who has said goodbye answers nothing */
    p->row_seal = p->seal;
    return p->waiting ? RN_MORE : RN_OK;
}

static rn_letter rni_peer_letter(rn_peer *p, const rni_wire *w) {
    rn_letter letter;
    letter.to = 0;
    letter.bytes = p->out;
    letter.size = rni_seal(p->out, p->desc.run, w);
    return letter;
}

static rn_letter rni_peer_join(rn_peer *p) {
    rni_wire w = rni_wire_make((uint32_t)p->desc.index, RNI_JOIN);
    w.dim = p->agent->policy.dim;
    w.a = p->prints.policy;
    w.b = p->prints.method;
    p->owes_join = 0;
    p->heard = p->now;
    return rni_peer_letter(p, &w);
}

static const rn_real *rni_peer_direction(rn_peer *p) {
    const size_t dim = p->agent->policy.dim;
    if (!p->desc.alter) return p->agent->d;
    if (p->altered) return p->row;
    p->altered = 1;
    memcpy(p->row, p->agent->d, dim * sizeof *p->row);
    p->desc.alter(p->desc.alter_self, p->agent->last_round, p->row);
    return p->row;
}

static rn_letter rni_peer_row(rn_peer *p) {
    const rn_real *d = rni_peer_direction(p);
    rni_wire w = rni_wire_make((uint32_t)p->desc.index, RNI_ROW);
    double scale = 1;
    w.dim = p->agent->policy.dim;
    w.form = p->desc.half ? 2 : sizeof *d;
    w.round = p->agent->last_round;
    w.answers = p->row_seal;
    w.a = aggi_bits(p->agent->curvature);
    if (p->desc.half)
        scale = rni_put_halves(p->out + RNI_WIRE_HEAD, d, p->agent->policy.dim);
    else
        rni_put_reals(p->out + RNI_WIRE_HEAD, d, p->agent->policy.dim);
    w.b = aggi_bits(scale);
    p->owes_row = 0;
    return rni_peer_letter(p, &w);
}

static rn_letter rni_peer_goodbye(rn_peer *p) {
    const rni_wire w = rni_wire_make((uint32_t)p->desc.index, RNI_LEAVE);
    p->owes_leave = 0;
    return rni_peer_letter(p, &w);
}

RN_API int rn_peer_next(rn_peer *p, rn_letter *letter) {
    if (!p || !letter) return 0;
    if (!p->owes_leave && !p->owes_join && !p->owes_row) return 0;
    *letter = p->owes_leave  ? rni_peer_goodbye(p)
              : p->owes_join ? rni_peer_join(p)
                             : rni_peer_row(p);
    return 1;
}

RN_API void rn_peer_leave(rn_peer *p) {
    if (!p) return;
    p->owes_leave = p->left = 1;
    p->owes_join = p->owes_row = p->waiting = p->joined = 0;
}

RN_API rn_agent *rn_peer_agent(rn_peer *p) { return p ? p->agent : NULL; }
RN_API int rn_peer_joined(const rn_peer *p) { return p ? p->joined : 0; }
RN_API size_t rn_peer_round(const rn_peer *p) { return p ? p->newest : 0; }
RN_API rn_reason rn_peer_refusal(const rn_peer *p) { return p ? p->refusal : RN_ACCEPTED; }

/* b: the checksum of the plan that the agent is at, or of the one that d answers */
static rni_saved rni_peer_saved(const rn_peer *p) {
    rni_saved s;
    s.magic = RNI_SAVED_PEER;
    s.run = p->desc.run;
    s.a = p->desc.index;
    s.b = p->busy ? p->seal : p->row_seal;
    return s;
}

RN_API size_t rn_peer_save_size(const rn_peer *p) {
    return p ? RNI_SAVED_HEAD + 8 + rn_agent_save_size(p->agent) : 0;
}

RN_API rn_status rn_peer_save(const rn_peer *p, void *bytes, size_t size) {
    unsigned char *to = (unsigned char *)bytes;
    rni_saved saved;
    rn_status s;
    if (!p || !bytes) return RN_ERR_ARG;
    if (size < rn_peer_save_size(p)) return RN_ERR_MEMORY;
    saved = rni_peer_saved(p);
    s = rn_agent_save(p->agent, to + RNI_SAVED_HEAD, size - RNI_SAVED_HEAD);
    if (s == RN_OK) rni_saved_write(&saved, to, rn_agent_save_size(p->agent));
    return s;
}

/* It joins again, and goes on with the round that it was in. */
RN_API rn_status rn_peer_load(rn_peer *p, const void *bytes, size_t size) {
    const unsigned char *from = (const unsigned char *)bytes;
    rni_saved saved;
    rn_status s;
    if (!p || !bytes) return RN_ERR_ARG;
    saved = rni_peer_saved(p);
    s = rni_saved_read(&saved, from, size);
    if (s == RN_OK) s = rn_agent_load(p->agent, from + RNI_SAVED_HEAD, size - RNI_SAVED_HEAD - 8);
    if (s != RN_OK) return s;
    p->seal = p->row_seal = saved.b;
    p->busy = p->agent->busy;
    p->left = p->joined = p->waiting = p->owes_row = p->owes_leave = 0;
    p->newest = 0;
    p->altered = 0;
    p->owes_join = 1;
    return RN_OK;
}

/* ---- 12 evaluation --------------------------------------------------------------------------- */

typedef struct rni_room {
    rn_real *obs; /* two rows: now and next, by turns */
    rn_real *act;
    void *work;
} rni_room;

/* asks for the policy's size once: what is counted is what is used */
static rni_room rni_evaluate_layout(aggi_arena *a, const rn_policy *p) {
    const size_t bytes = p->work_size ? p->work_size(p->self, 0) : 0;
    rni_room r;
    if (p->work_size && !bytes) a->bad = 1;
    r.obs = aggi_take_real(a, 2 * p->obs_dim);
    r.act = aggi_take_real(a, p->act_dim);
    r.work = aggi_take(a, 1, bytes);
    return r;
}

RN_API size_t rn_evaluate_scratch_size(const rn_env *env, const rn_policy *p) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_complaint unsaid;
    if (!env || !p || rni_play_check(env, p, &unsaid) != RN_OK) return 0;
    (void)rni_evaluate_layout(&a, p);
    return aggi_arena_size(&a);
}

struct rn_evaluator {
    rn_env env;
    rn_policy policy;
    rn_evaluation_desc desc;
    rni_room room;
    rn_real *theta; /* a copy */
    rn_random random;
    rn_evaluation sum;
    size_t done;  /* trajectories */
    size_t t;     /* steps of the one under way, 0: none is */
    double total; /* its return so far */
    int over;
};

/* rng: of e->random, where that is now */
static rni_play rni_evaluator_play(const rn_evaluator *e, const rn_real *theta,
                                   const agg_rng *rng) {
    rni_play play;
    play.env = &e->env;
    play.policy = &e->policy;
    play.theta = theta;
    play.rng = rng;
    play.act_rng = e->desc.sampled ? rng : NULL;
    play.random_action = 0;
    play.work = e->room.work;
    return play;
}

static void rni_evaluator_start(rn_evaluator *e, const rn_evaluation_desc *d, const rn_env *env,
                                const rn_policy *p) {
    memset(e, 0, sizeof *e);
    e->env = *env;
    e->policy = *p;
    e->desc = *d;
    if (!d->trajectories) e->desc.trajectories = 10;
    if (!d->horizon) e->desc.horizon = 1000;
    e->random = rni_random_make(d->seed, RNI_FOR_EVALUATION, d->stream);
}

static void rni_evaluator_end_trajectory(rn_evaluator *e) {
    const double n = (double)e->desc.trajectories;
    e->sum.mean += e->total / n;
    e->sum.length += (double)e->t / n;
    if (!e->done || e->total < e->sum.low) e->sum.low = e->total;
    if (!e->done || e->total > e->sum.high) e->sum.high = e->total;
    e->done++;
    e->t = 0;
    e->total = 0;
}

/* one step, and before the first one of a trajectory the reset */
static rn_status rni_evaluator_step(rn_evaluator *e, const rni_play *play) {
    const size_t dim = e->env.obs_dim, t = e->t;
    rn_real *now = e->room.obs + t % 2 * dim, *next = e->room.obs + (t + 1) % 2 * dim;
    rn_status s = t ? RN_OK : rni_play_reset(play, now);
    double reward = 0;
    int running = 1;
    if (s == RN_OK) s = rni_play_act(play, now, e->room.act);
    if (s == RN_OK) s = rni_play_move(play, e->room.act, next, &reward, &running);
    if (s != RN_OK) return s;
    e->total += reward;
    e->t = t + 1;
    if (!running || e->t == e->desc.horizon) rni_evaluator_end_trajectory(e);
    return RN_OK;
}

static rn_status rni_evaluator_run(rn_evaluator *e, const rn_real *theta, size_t budget,
                                   size_t *used) {
    const agg_rng rng = rn_random_rng(&e->random);
    const rni_play play = rni_evaluator_play(e, theta, &rng);
    rn_status s = RN_OK;
    for (; s == RN_OK && e->done < e->desc.trajectories && *used < budget; ++*used)
        s = rni_evaluator_step(e, &play);
    return s == RN_OK && e->done < e->desc.trajectories ? RN_MORE : s;
}

RN_API rn_status rn_evaluate(const rn_evaluation_desc *d, const rn_env *env, const rn_policy *p,
                             const rn_real *theta, void *scratch, size_t size, rn_evaluation *out) {
    aggi_arena a = rni_arena_make(scratch, size);
    rni_complaint unsaid;
    rn_evaluator e;
    size_t used = 0;
    rn_status s;
    if (!d || !env || !p || !theta || !scratch || !out) return RN_ERR_ARG;
    s = rni_play_check(env, p, &unsaid);
    if (s != RN_OK) return s;
    rni_evaluator_start(&e, d, env, p);
    e.room = rni_evaluate_layout(&a, p);
    if (a.bad) return RN_ERR_SIZE;
    if (!rni_arena_holds(&a)) return RN_ERR_MEMORY;
    if (p->prepare) p->prepare(p->self, theta, e.room.work);
    s = rni_evaluator_run(&e, theta, (size_t)-1, &used);
    if (s == RN_OK) *out = e.sum;
    return s;
}

static rn_evaluator *rni_evaluator_layout(aggi_arena *a, const rn_policy *p, rni_room *room,
                                          rn_real **theta) {
    rn_evaluator *e = (rn_evaluator *)aggi_take(a, 1, sizeof *e);
    *theta = aggi_take_real(a, p->dim);
    *room = rni_evaluate_layout(a, p);
    return e;
}

RN_API size_t rn_evaluator_size(const rn_env *env, const rn_policy *p) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    rni_room room;
    rn_real *theta;
    rni_complaint unsaid;
    if (!env || !p || rni_play_check(env, p, &unsaid) != RN_OK) return 0;
    (void)rni_evaluator_layout(&a, p, &room, &theta);
    return aggi_arena_size(&a);
}

RN_API rn_status rn_evaluator_init(rn_evaluator **evaluator, const rn_evaluation_desc *d,
                                   const rn_env *env, const rn_policy *p, const rn_real *theta,
                                   void *memory, size_t size) {
    aggi_arena a = rni_arena_make(memory, size);
    rn_evaluator *e;
    rni_room room;
    rn_real *copy;
    rni_complaint unsaid;
    rn_status s;
    if (!evaluator || !d || !env || !p || !theta || !memory) return RN_ERR_ARG;
    s = rni_play_check(env, p, &unsaid);
    if (s != RN_OK) return s;
    e = rni_evaluator_layout(&a, p, &room, &copy);
    if (a.bad) return RN_ERR_SIZE;
    if (!rni_arena_holds(&a)) return RN_ERR_MEMORY;
    rni_evaluator_start(e, d, env, p);
    e->room = room;
    e->theta = copy;
    memcpy(copy, theta, p->dim * sizeof *copy);
    if (p->prepare) p->prepare(p->self, copy, room.work);
    *evaluator = e;
    return RN_OK;
}

RN_API rn_status rn_evaluator_tick(rn_evaluator *e, size_t budget, size_t *used,
                                   rn_evaluation *out) {
    size_t count = 0;
    rn_status s;
    if (used) *used = 0;
    if (!e || !out) return RN_ERR_ARG;
    if (e->over) return RN_ERR_ORDER;
    s = rni_evaluator_run(e, e->theta, budget, &count);
    if (used) *used = count;
    e->over = s != RN_MORE;
    if (s == RN_OK) *out = e->sum;
    return s;
}

RN_API rn_status rn_trainer_evaluate(rn_trainer *t, const rn_env *env, size_t trajectories,
                                     double *mean_return) {
    rn_evaluation_desc d;
    rn_evaluation e;
    rn_status s;
    if (!t || !env || !mean_return) return RN_ERR_ARG;
    memset(&d, 0, sizeof d);
    d.trajectories = trajectories;
    d.horizon = t->agents[0]->method.horizon;
    d.seed = t->desc.seed;
    d.stream = (uint32_t)t->rounds;
    s = rn_evaluate(&d, env, &t->desc.policy, t->server->theta, t->scratch, t->scratch_size, &e);
    if (s == RN_OK) *mean_return = e.mean;
    return s;
}

/* ---- 13 theory: the lemmas of the paper's appendix ------------------------------------------- */

static int rni_positive(double x) { return x > 0 && aggi_finite(x); }

static int rni_not_negative(double x) { return aggi_within(x, 0, DBL_MAX); }

static int rni_theory_ok(const rn_assumptions *p, double T) {
    if (!p || !aggi_within(T, 1, DBL_MAX) || p->n <= p->f) return 0;
    if (!rni_positive(p->G1) || !rni_positive(p->G2)) return 0;
    if (!rni_positive(p->R) || !rni_positive(p->muF)) return 0;
    if (!aggi_within(p->discount, 0, 1) || p->discount == 1) return 0;
    return rni_not_negative(p->lambda) && rni_not_negative(p->eps_bias) &&
           rni_not_negative(p->gap) && rni_not_negative(p->sigma2) && rni_not_negative(p->sigmaH2);
}

RN_API rn_constants rn_theory_constants(const rn_assumptions *p, double T) {
    rn_constants c = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
    double rest, decay, ratio, s2, h2;
    if (!rni_theory_ok(p, T)) return c;
    rest = 1 - p->discount;
    ratio = p->G1 / p->muF;
    c.H = aggi_log(T + 1) / rest;
    decay = p->discount > 0 ? rni_exp(c.H * aggi_log(p->discount)) : 0; /* discount^H */
    c.L = p->R * (p->G1 * p->G1 + p->G2) / (rest * rest);
    c.G_g = p->G1 * p->R / (rest * rest);
    c.G_H = (p->G2 * p->G1 * p->G1 * p->R + c.L * p->R) / (rest * rest);
    c.D_g = p->G1 * p->R / rest * aggi_sqrt(1 / rest + c.H);
    c.D_h = p->R * (p->G2 + p->G1 * p->G1) / rest * (1 / rest + c.H);
    s2 = p->sigma2 > 0 ? p->sigma2 : c.G_g * c.G_g;
    h2 = p->sigmaH2 > 0 ? p->sigmaH2 : c.G_H * c.G_H;
    c.C1 = c.G_g + 6 * ratio * (c.L + c.G_H);
    c.C2 = 2 * s2 + 12 * (2 * c.L * c.L + h2 + c.D_h * c.D_h * decay * decay) * 6 * ratio +
           24 * c.D_g * c.D_g;
    c.C3 = 16 * ratio * c.D_g + 18 * ratio * ratio * c.L + 950 * c.C1 * ratio * p->lambda;
    return c;
}

/* The bound without its first term, which T does not change. Constants so large that they overflow
   bound nothing: +Inf. */
static double rni_theory_gap(const rn_assumptions *p, double T) {
    const rn_constants c = rn_theory_constants(p, T);
    const double honest = (double)(p->n - p->f);
    const double noise = aggi_sqrt(c.C2 * (1 + aggi_log(T)) / honest);
    const double attacks =
        p->lambda > 0 ? c.C1 * p->lambda * aggi_sqrt(2 * aggi_log(honest * (T + 1))) : 0;
    const double sum = p->gap / ((T + 1) * (T + 1)) + c.C3 / (T + 1) +
                       32 * p->G1 / (p->muF * aggi_sqrt(T + 1)) * (noise + attacks);
    return aggi_finite(sum) ? sum : aggi_from_bits(AGGI_INF);
}

RN_API double rn_theory_bound(const rn_assumptions *p, double T) {
    if (!rni_theory_ok(p, T)) return -1;
    return aggi_sqrt(p->eps_bias) / (1 - p->discount) + rni_theory_gap(p, T);
}

/* Two trajectories a round. The least T by doubling, then halving; rounded up where doubles still
   have a fraction. */
RN_API double rn_theory_trajectories(const rn_assumptions *p, double eps) {
    double low = 1, high = 1;
    int i;
    if (!aggi_is_number(eps) || eps <= 0 || !rni_theory_ok(p, 1)) return -1;
    while (rni_theory_gap(p, high) > eps) {
        low = high;
        high *= 2;
        if (!(high < 1e150)) return -1;
    }
    for (i = 0; i < 200 && high - low > 1; i++) {
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) break;
        if (rni_theory_gap(p, middle) > eps)
            low = middle;
        else
            high = middle;
    }
    if (high < 4503599627370496.0)
        high = (double)((uint64_t)high + ((double)(uint64_t)high < high));
    return 2 * high;
}

/* ---- 14 explaining --------------------------------------------------------------------------- */

/* aggregators.h has the words for its own fields */
static void rni_say_agg(aggi_words *w, rn_server_desc d) {
    agg_desc agg;
    rni_server_defaults(&d);
    agg = rni_server_agg(&d);
    aggi_say(w, "agg.");
    if (!w->size) return;
    (void)agg_explain(&agg, w->text + w->used, w->size - w->used);
    while (w->text[w->used]) w->used++;
}

/* d: of the server, for its agg; prefix: of its fields */
static void rni_say_status(aggi_words *w, rn_status s, const rni_complaint *c,
                           const rn_server_desc *d, const char *prefix) {
    if (c->agent && s != RN_OK) {
        aggi_say(w, "agent ");
        aggi_say_number(w, (double)(c->agent - 1));
        aggi_say(w, ": ");
    }
    if (c->server) aggi_say(w, prefix);
    if (c->agg)
        rni_say_agg(w, *d);
    else if (s != RN_OK && c->words.text)
        aggi_say_complaint(w, &c->words);
    else
        aggi_say(w, rn_status_text(s));
}

/* all that apply, a line each */
static void rni_say_hints(aggi_words *w, const rni_check *hint, size_t n, const char *prefix) {
    rni_complaint c;
    for (; n; n--, hint++) {
        if (!hint->fails) continue;
        (void)rni_refuse(&c, hint);
        aggi_say(w, "\nhint: ");
        aggi_say(w, prefix);
        aggi_say_complaint(w, &c.words);
    }
}

#define RNI_SAY_HINTS(w, list, prefix) rni_say_hints(w, list, sizeof(list) / sizeof *(list), prefix)

/* the round in which a schedule has come to 0; 0: none is known */
static size_t rni_schedule_ends(const rn_schedule *s) {
    const size_t t = (s->rounds ? s->rounds : 1) + 1;
    const int asks = s->kind == RN_SCHEDULE_CALLBACK; /* who is not asked before its time */
    return !asks && aggi_is_zero(rn_schedule_value(s, t)) ? t : 0;
}

/* clang-format off */
static void rni_hint_net(aggi_words *w, const rn_net_desc *d) {
    const rni_check list[] = {
        {d->gaussian && aggi_is_zero(d->log_std), RN_OK,
         "the net's log_std is 0: at first actions are drawn with a deviation of 1", {0}},
        {!d->hidden[0] && d->hidden[1], RN_OK,
         "the net's hidden[0] is 0, hidden[1] is #: layers end at the first 0, so it is linear",
         {(double)d->hidden[1]}}};
    RNI_SAY_HINTS(w, list, "");
}

static void rni_hint_method(aggi_words *w, const rn_method *m, const rn_policy *p) {
    const rni_check list[] = {
        {aggi_is_zero(m->discount) && m->horizon != 1, RN_OK,
         "method.discount is 0: an action is judged by the reward of its own step alone", {0}}};
    RNI_SAY_HINTS(w, list, "");
    if (p->work_size == rni_net_work_size) rni_hint_net(w, &((const rn_net *)p->self)->desc);
}

static void rni_hint_server(aggi_words *w, const rn_server_desc *d, const char *prefix) {
    const size_t gamma = rni_schedule_ends(&d->gamma), eta = rni_schedule_ends(&d->eta);
    const rni_check list[] = {
        {gamma > 0, RN_OK, "gamma is 0 from round # on: then theta stands still", {(double)gamma}},
        {eta > 0, RN_OK, "eta is 0 from round # on: then no new gradient counts", {(double)eta}},
        {!d->aggregate && d->agg.rule == AGG_MEAN && d->agg.f, RN_OK,
         "agg.f is #, but the mean survives no adversary", {(double)d->agg.f}}};
    RNI_SAY_HINTS(w, list, prefix);
}

/* an agent with the self of agent 0, which is seldom one without a state; 0: none */
static size_t rni_shared_self(const rn_trainer_desc *d) {
    size_t i = 1;
    if (!d->envs || !d->envs[0].self) return 0;
    while (i < d->agents && d->envs[i].self != d->envs[0].self) i++;
    return i < d->agents ? i : 0;
}

/* agents that attack: in desc.attacks a zeroed one flips signs, which is easily forgotten */
static size_t rni_count_attacks(const rn_trainer_desc *d) {
    size_t i, count = d->attacks ? 0 : d->adversaries;
    for (i = 0; i < d->agents && d->attacks; i++) count += d->attacks[i].kind != RN_ATTACK_NONE;
    return count;
}

/* the first of desc.attacks that is a mimic of honest row `honest` or of one behind it, which there
   is not; desc.agents: none is */
static size_t rni_lost_mimic(const rn_trainer_desc *d, size_t honest) {
    size_t i = 0;
    for (; i < d->agents && d->attacks; i++) {
        const rn_attack *a = &d->attacks[i];
        if (a->kind == RN_ATTACK_VECTOR && !a->make && a->vector.kind == AGG_ATTACK_MIMIC &&
            a->knows == RN_KNOWS_ALL && a->vector.target >= honest)
            return i;
    }
    return d->agents;
}

static void rni_hint_trainer(aggi_words *w, const rn_trainer_desc *d) {
    const size_t f = d->server.agg.f, twin = rni_shared_self(d), bad = rni_count_attacks(d);
    const size_t honest = d->agents - bad, mimic = rni_lost_mimic(d, honest);
    const rni_check list[] = {
        {twin > 0, RN_OK,
         "envs[0].self and envs[#].self are the same: each agent needs a state of its own",
         {(double)twin}},
        {!d->attacks && !d->server.aggregate && bad > f, RN_OK,
         "adversaries is #, server.agg.f is #: more than the rule is asked to survive",
         {(double)bad, (double)f}},
        {d->attacks && !d->server.aggregate && bad > f, RN_OK,
         "attacks has # adversaries, server.agg.f is #: more than the rule is asked to survive",
         {(double)bad, (double)f}},
        {mimic < d->agents, RN_OK,
         "attacks[#]: a mimic's target is one of the # honest, from 0; it will send nothing",
         {(double)mimic, (double)honest}}};
    RNI_SAY_HINTS(w, list, "");
}

/* clang-format on */

RN_API rn_status rn_net_explain(const rn_net_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    rn_status s = RN_ERR_ARG;
    rni_complaint c;
    rn_net net;
    memset(&c, 0, sizeof c);
    memset(&net, 0, sizeof net);
    if (d) net.desc = *d;
    if (d) s = rni_net_shape(&net, &c);
    rni_say_status(&w, s, &c, NULL, "");
    if (s == RN_OK) rni_hint_net(&w, d);
    return s;
}

RN_API rn_status rn_agent_explain(const rn_agent_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_arena a = aggi_arena_make(NULL, 0);
    rn_status s = RN_ERR_ARG;
    rni_complaint c;
    rn_agent *none;
    memset(&c, 0, sizeof c);
    if (d) s = rni_agent_place(*d, &a, &none, &c);
    rni_say_status(&w, s, &c, NULL, "");
    if (s == RN_OK) rni_hint_method(&w, &d->method, &d->policy);
    return s;
}

RN_API rn_status rn_server_explain(const rn_server_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_arena a = aggi_arena_make(NULL, 0);
    rn_status s = RN_ERR_ARG;
    rni_complaint c;
    rn_server *none;
    memset(&c, 0, sizeof c);
    if (d) s = rni_server_place(*d, &a, &none, &c);
    rni_say_status(&w, s, &c, d, "");
    if (s == RN_OK) rni_hint_server(&w, d, "");
    return s;
}

RN_API rn_status rn_peer_explain(const rn_peer_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_arena a = aggi_arena_make(NULL, 0);
    rn_status s = RN_ERR_ARG;
    rni_complaint c;
    rn_peer *none;
    memset(&c, 0, sizeof c);
    if (d) s = rni_peer_place(d, &a, &none, &c);
    rni_say_status(&w, s, &c, NULL, "");
    if (s == RN_OK) rni_hint_method(&w, &d->agent.method, &d->agent.policy);
    return s;
}

RN_API rn_status rn_hub_explain(const rn_hub_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_arena a = aggi_arena_make(NULL, 0);
    rn_status s = RN_ERR_ARG;
    rn_server_desc server;
    rni_complaint c;
    rn_hub *none;
    memset(&c, 0, sizeof c);
    memset(&server, 0, sizeof server);
    if (d) server = rni_hub_server_desc(d);
    if (d) s = rni_hub_place(d, &a, &none, &c);
    rni_say_status(&w, s, &c, &server, "server.");
    if (s == RN_OK) rni_hint_server(&w, &server, "server.");
    return s;
}

RN_API rn_status rn_trainer_explain(const rn_trainer_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_arena a = aggi_arena_make(NULL, 0);
    rn_status s = RN_ERR_ARG;
    rn_server_desc server;
    rni_complaint c;
    rn_trainer *none;
    memset(&c, 0, sizeof c);
    memset(&server, 0, sizeof server);
    if (d) server = rni_trainer_server_desc(d);
    if (d) s = rni_trainer_place(d, &a, &none, &c);
    rni_say_status(&w, s, &c, &server, "server.");
    if (s != RN_OK) return s;
    rni_hint_method(&w, &d->method, &d->policy);
    rni_hint_server(&w, &server, "server.");
    rni_hint_trainer(&w, d);
    return s;
}

AGGI_END_CODE
#endif /* RESNHARPG_IMPLEMENTATION */

/* CHANGELOG  the first number changes when your code may have to, the second when something is
   added or results get other bits or saved states another form, the third when neither. Both
   headers have one version.
   0.5.0 (2026-11) rn_hub and rn_peer: a federation as bytes, for any transport; late and stale
                   rows, rn_server_update_from; method.lookahead. server.watch: evidence over rounds
                   of who lies. Attacks: knows, wait and ramp, make (yours), poisoned rewards; all
                   that aggregators.h has, "worst" among them, with scratch and memory filled in.
                   rn_trainer_explain and its like say what is wrong with a desc. Refused now: gamma
                   or eta of 0 in round 1, gamma below 0, eta over 1. progress.still, late, cosine,
                   evidence. rn_make_trainer_desc has another recipe, that survives "worst": CWTM
                   alone, batch 8, gamma 0.16 to 0.004 in 100 rounds (`make attacks`); both recipes
                   end above 0. A tick is bounded by work: its budget and `used` count sums and
                   aggregation too, agents take turns, the end of a round is pieces; rn_evaluator
                   evaluates in ticks. Saved
                   states have another form (those of 0.4 are refused: RN_ERR_FORMAT).
   0.4.0 (2026-11) method.tuned: agents that choose eta and the weight of v themselves. server.kl:
                   the step from a budget; rn_agent_curvature, rn_server_update_with,
                   rn_make_tuned_trainer_desc.
                   method.flat, method.reuse and server.soft, all off in a zeroed desc. New last
                   fields in rn_hessian_product: zero it before you fill it in. Saved states without
                   the three have the form and the bytes they had. rn_make_trainer_desc has another
                   recipe, with flat, reuse, soft and NNM: few bad runs (`make ablation`). If you
                   set REINFORCE, no_hessian or a plain update in it, set flat, reuse or soft to 0.
   0.3.0 (2026-11) Saved states have another form (those of 0.2 are refused: RN_ERR_FORMAT) and are
                   checked as what they hold will be used: actions, observations, lengths, counters.
                   policy.accepts_obs and accepts_act, both optional; if you wrap a policy by
                   copying its struct, forward or clear them. A state that is none of a table's is
                   RN_ERR_ENV now (was RN_ERR_POLICY; fractions were cut off), from rn_policy_act
                   too. rn_plan, rn_agent_run_plan, rn_agent_begin_plan, rn_server_plan: a plan
                   delivered twice is made once. rn_agent_desc.reach and eta_min, RN_ERR_REACH.
                   A round of small nets takes a fifth less time: agents act side by side, and the
                   gradient takes over what acting computed. For that a forward pass sums even and
                   odd units apart, as acting did: results of nets have other bits.
   0.2.0 (2026-11) The words of the field, verbs for what acts. Saved states and, in float, all
                   results are as in 0.1. Old names and new:
     rn_lie, rn_lie_kind, rn_lie.attack              rn_attack, rn_attack_kind, rn_attack.vector
     RN_LIE_VECTOR, RN_LIE_NONE, RN_LIE_SILENT       RN_ATTACK_VECTOR, _NONE, _SILENCE
     RN_LIE_ACTION, RN_LIE_REWARD                    RN_ATTACK_RANDOM_ACTION, _REWARD_FLIP
     desc.liars, desc.lie, desc.each                 desc.adversaries, desc.attack, desc.attacks
     rn_trainer_set_lie                              rn_trainer_set_attack
     rn_trainer_round, rn_trainer_rounds             rn_trainer_run_round, rn_trainer_rounds_done
     rn_agent_round, rn_agent_begin                  rn_agent_run_round, rn_agent_begin_round
     rn_agent_stats, rn_agent_get_stats()            rn_stats, rn_agent_stats()
     stats.episodes, rn_eval_desc.episodes           .trajectories
     rn_server_step, rn_server_skip                  rn_server_update, rn_server_skip_round
     rn_server_round                                 rn_server_current_round
     rn_step_kind, RN_STEP_*, server.step            rn_update_kind, RN_UPDATE_*, server.update
     rn_constant, rn_linear, rn_steps                rn_schedule_constant, _linear, _staircase
     RN_CONSTANT, _LINEAR, _STEPS and so on          RN_SCHEDULE_CONSTANT, _LINEAR, _STAIRCASE ..
     rn_schedule_at                                  rn_schedule_value
     rn_theorem_gamma, _eta, _horizon                rn_theory_gamma, _eta, _horizon
     rn_theory                                       rn_assumptions
     rn_eval_desc, rn_eval                           rn_evaluation_desc, rn_evaluation
     rn_evaluate_size                                rn_evaluate_scratch_size
     rn_bu (13 parameters)                           rn_add_hessian_product, a struct
     rn_psi                                          rn_compute_returns_to_go
     rn_net_policy, rn_table_policy                  rn_make_net_policy, rn_make_table_policy
     rn_policy_work                                  rn_policy_work_size
     rn_random_make                                  rn_make_random
     rn_uniform, rn_below, rn_normal                 rn_draw_uniform, rn_draw_below, rn_draw_normal
     rn_result                                       rn_step_result
     RN_NO_DISPATCH                                  AGG_NO_DISPATCH, for both headers
   0.1.0 (2026-11) first release: agents, server, trainer, networks and tables, baselines, saving,
                   theory.

   LICENCE  choose one of the two

   A - MIT
   Copyright (c) 2026 the resnharpg authors
   Permission is hereby granted, free of charge, to any person obtaining a copy of this software
   and associated documentation files (the "Software"), to deal in the Software without
   restriction, including without limitation the rights to use, copy, modify, merge, publish,
   distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
   Software is furnished to do so, subject to the following conditions:
   The above copyright notice and this permission notice shall be included in all copies or
   substantial portions of the Software.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   B - PUBLIC DOMAIN (Unlicense)
   This is free and unencumbered software released into the public domain. Anyone is free to
   copy, modify, publish, use, compile, sell, or distribute this software, either in source code
   form or as a compiled binary, for any purpose, commercial or non-commercial, and by any means.
   In jurisdictions that recognize copyright laws, the author or authors of this software
   dedicate any and all copyright interest in the software to the public domain. We make this
   dedication for the benefit of the public at large and to the detriment of our heirs and
   successors. We intend this dedication to be an overt act of relinquishment in perpetuity of
   all present and future rights to this software under copyright law.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
   LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
   CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE. */
