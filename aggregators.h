/* aggregators.h - v0.5.0 - Byzantine-robust aggregation - SPDX-License-Identifier: MIT OR Unlicense
   n vectors in, one vector out, of which f senders may be adversaries: MDA, trimmed mean, median,
   Krum, geometric median and their peers. One file, C99 and C++11, no allocation, no dependencies.

   In exactly one C or C++ file:                  In every other file:
       #define AGGREGATORS_IMPLEMENTATION             #include "aggregators.h"
       #include "aggregators.h"

   QUICK START (every example in this comment is compiled and run by `make test`)
       float a[] = {1,1}, b[] = {1,2}, c[] = {2,1}, d[] = {2,2}, adversary[] = {900,-900};
       const float *rows[] = { a, b, c, d, adversary };   // the mean would be 181.2 -178.8
       float out[2];
       char scratch[8192];                                // agg_scratch_size() tells how much
       agg_desc desc = agg_make_desc(AGG_MDA, 5, 2, 1);   // rule, rows, numbers a row, adversaries
       agg_status s = agg_aggregate(&desc, rows, out, scratch, sizeof scratch, NULL);
       printf("%s: %g %g\n", agg_status_text(s), out[0], out[1]);      // prints: ok: 1.5 1.5

   CONTENTS     options, the guarantee, rules, pre-aggregations, attacks, security, time, distances,
                stages, memory, threads, determinism, accuracy, errors, API, code, changelog,
                licence
   OPTIONS      before the include: AGG_STATIC (all functions static), AGG_API (own linkage),
                AGG_ASSERT(x), AGG_DOUBLE (double for float; the same in every file, a mix fails to
                link), AGG_NO_DISPATCH (do not look for AVX2 at run time; the bits stay the same)

   THE GUARANTEE
   n agents each send a row of dim numbers; at most f < n/2 of them are Byzantine and may send
   anything. A rule F is (f,lambda)-resilient if for EVERY set G of n-f rows, and so for the honest
   ones,
       ||F(x) - mean_G||  <=  lambda * max over i,j in G of ||x_i - x_j||  (Farhadkhani et al. 2022)
   agg_lambda() gives lambda; agg_resilience() measures the left side over the right for rows at
   hand. Below, D = min(sqrt(dim), 2 sqrt(n-f)). f may be an upper bound of the true number of
   adversaries. Ties go to the lower row.
   Of rows that are absent there are two kinds. Convicted: k rows that are NULL or have a NaN or
   Inf; nobody honest sends that, so n-k and f-k stand for n and f, and the inequality holds for
   every set of n-f of the rows that are left. Late: l rows that desc.late marks; anybody's link
   may be slow, and f adversaries may all be among those who are in time, so n-l stands for n and f
   stays: it holds for every set of n-l-f of the rows in time, with the larger lambda of n-l. What
   a rule asks of n it then asks of n-l (n-l > 2f, for Bulyan n-l >= 4f+3): else AGG_ERR_BOUND.

   RULES        breakdown: f < n/2 unless said otherwise; costs beside reading the rows once
   MDA          minimum diameter averaging: mean of the (n-f)-subset of least diameter (of several
                the lexicographically first). lambda = 2f/(n-f). Cost n^2 dim plus a search,
                exponential in f at worst and short in practice: "is there a subset of diameter <=
                r" is "has the graph of pairs farther apart than r a vertex cover of size <= f". If
                desc.budget does not settle it the status is AGG_INEXACT and the set has at most
                twice the least diameter, which gives lambda = 3f/(n-f). Rousseeuw 1985, El Mhamdi
                et al. 2018.
                Not for: thousands of rows (n^2 memory).
   CWTM         coordinate-wise trimmed mean: per coordinate, drop the f largest and f smallest
                values, average the rest. lambda = D f/(n-f). Cost n dim. Yin et al. 2018.
                Not for: rows that are good only as a whole (it mixes coordinates of many).
   MEAMED       mean around the median: per coordinate, average the n-f values closest to the
                median. lambda = 2 D f/(n-f). Cost n dim. Xie et al. 2018.
                Not for: one-sided honest noise, which it cuts off.
   CWMED        coordinate-wise median, for even n the mean of the middle two.
                lambda = D n/(2(n-f)). Cost n dim. Needs no f. Yin et al. 2018.
                Not for: many honest rows, it does not average their noise away.
   KRUM         the row with the least sum of squared distances to its n-f-1 nearest others
                (desc.classic_krum: n-f-2, as in Blanchard et al. 2017; then n > 2f+2). The sum is
                rounded once, so that it does not hang on the order of the rows.
                lambda = 1 + sqrt((n-f)/(n-2f)). Cost n^2 dim.
                Not for: noisy honest rows: it returns one of them, noise and all.
   MULTI_KRUM   mean of the desc.q rows with the best Krum scores (0: n-f). q over n-f is refused,
                AGG_ERR_ARG: an adversary's row would be among them. lambda as Krum. Cost n^2 dim.
   GM           geometric median: argmin_z sum_i ||z - x_i||. lambda = 1 + sqrt((n-f)^2/(n(n-2f))).
                Cost n^2 dim, then n^2 per iteration. Let R be the radius of the smallest ball
                around a row that holds a majority. Solved until a dual bound PROVES the value
                within n R desc.gap (1e-6) of the least, and within what lambda allows for f; the
                report has the gap proven, before out is rounded to agg_real. AGG_INEXACT if it is
                larger: lambda holds then too, for what is not proven to be within it is moved
                towards the centre of the smallest ball of n-f rows. Rows farther than 2^16 R from
                the centre of the first ball count by their direction alone. Chen et al. 2017.
   MEAN         not resilient: one adversary moves it anywhere. lambda = 0 for f = 0, else infinite.
                Cost n dim. The baseline.
   BULYAN       pick n-2f rows by repeated Krum, then per coordinate the mean of the n-4f values
                closest to their median. Needs n >= 4f+3. Cost n^2 dim. El Mhamdi et al. 2018.
                Not for: f near n/4, it throws most rows away.
   CCLIP        centred clipping: v += mean_i (x_i - v) min(1, tau/||x_i - v||), desc.iterations
                times (3), from desc.start (coordinate-wise median if NULL; pass the last aggregate
                if you have it), tau = desc.tau (the median of ||x_i - start|| if 0). Cost n dim per
                iteration. Karimireddy et al. 2021. Not for: a start you do not trust.
   CGE          comparative gradient elimination: mean of the n-f rows of least norm. Cost n dim.
                Gupta et al. 2021. Not for: adversaries of small norm: it takes them all. No lambda:
                its error grows with the norm of the honest rows, not with their diameter.
   MONNA        mean of the n-f rows nearest to row desc.pivot, itself included. Cost n dim.
                Farhadkhani et al. 2023. Not for: a server without a row of its own to trust, or
                after bucketing, which may mix that row with an adversary's.
   CAF          covariance-bound agnostic filter: weights 1; again and again find the direction of
                largest weighted variance and lower the weight of rows far along it, until they sum
                to n-2f; the mean with the least variance seen. A direction v with variance s has
                ||A v - s v|| <= 1e-10 s, A the covariance; of equal variances any direction will
                do (which one depends on the rows alone), and nearly equal ones that 128 steps of
                Lanczos do not tell apart are mixed. Once desc.budget is spent a direction gets 4
                steps, AGG_INEXACT if that shows. Cost n^2 dim + f n^2 times 7 to 130. Allouah et
                al. 2025.
                Not for: exact guarantees (no lambda here).
   SMEA         smallest maximum eigenvalue averaging: mean of the (n-f)-subset whose covariance has
                the least top eigenvalue (of several within 1e-9 the lexicographically first). The
                inequality above holds with sqrt(2f/(n-2f)). Cost n^2 dim + a search, exponential in
                f. If desc.budget does not settle it the status is AGG_INEXACT and the set is the
                best so far, at worst the smallest ball of n-f rows around one of them:
                (1 + sqrt(1/2)) sqrt(f/(n-2f)). Allouah et al. 2023.
                Not for: n over about 25, where AGG_INEXACT is the rule.
   AKSEL        mean of the n-f rows nearest to the coordinate-wise median. lambda = 2f/(n-f) times
                the least of D and 1 + D n/(2(n-f)), proven beside the code. Cost n dim. Boussetta
                et al. 2021.
                Not for: more coordinates than rows: the median is far from every row then.
   DNC          divide and conquer: desc.iterations times (5) take a random desc.share (0.2) of the
                coordinates, rounded down, at least one, find the direction of largest variance
                there (as CAF does) and keep the n-f rows that are off least along it; the mean of
                the rows kept every time, or, if there are none, most often. Needs desc.rng. Cost
                n^2 dim times iterations x share, and 7 to 130 n^2 for each. No lambda: two
                adversaries move it anywhere, as one who is far off in one direction hides another
                who is off in another one. Shejwalkar & Houmansadr 2021.
                Not for: few coordinates, of which it sees a fifth; f > 1 adversaries who know it.
   FLTRUST      weights max(0, cos(x_i, g)) of an angle with a trusted row g, which is desc.trusted
                or row desc.pivot; all rows are made as long as g: ||g|| sum_i w_i x_i/||x_i|| over
                sum_i w_i. A row of zeros has no weight; if no row has any, the result is g. No
                weight for the report then, else w_i/sum w. g missing or not finite: AGG_ERR_PIVOT.
                Bounded by ||g||, in every coordinate by the largest number there is, but no lambda.
                Cost n dim. Cao et al. 2021.
                Not for: a server without a row of its own, renewed before every call; a pivot after
                bucketing or NNM, which mix it with others: as long as an adversary's row, if that
                is among them, and so is the result.
   SIGNGUARD    rows whose norm is 0.1 to 3 times the median norm; of these a cluster by their
                signs; those longer than the median norm are shortened to it; their mean. Signs: the
                shares of numbers above, at and below 0 in a random run of desc.share (0.1) of the
                coordinates, each in units of the largest such share. Cluster: the fullest ball
                around one row; its radius is the lower median, over the rows, of the radius that
                holds more than half of them, so that no minority widens it. Needs desc.rng. Cost n
                dim + n^2 log n. No lambda. Xu et al. 2022, who cluster by mean shift, and all rows,
                so that none may be left.
                Not for: adversaries with honest signs; few coordinates.
   GAS          gradient splitting: the coordinates are dealt at random into desc.blocks (1000, dim
                at most) blocks; a row's score is the sum over the blocks of its distance there from
                the coordinate-wise median; the mean of the n-f rows of least score. Needs desc.rng.
                Cost n dim. No lambda. Liu et al. 2023, who put any robust rule for the median;
                blocks change nothing for that one but the score.
                Not for: rows that are far off in few coordinates alone, which a sum over blocks
                forgives.
   WINSOR       coordinate-wise winsorised mean: the f largest numbers count as the largest but f,
                the f smallest likewise; the mean of all n. lambda = D f/(n-f), proven beside the
                code. The report's weights are CWTM's: how often a row's number counts as it is.
                Cost n dim.
                Not for: what CWTM is not for.
   SIGN_VOTE    per coordinate the sign that more rows have: 1, -1, or 0 if as many have the other;
                a 0 has no sign. The report's weights are how often a row has the sign that won.
                Cost n dim. No lambda: out is a direction, as long as sqrt(dim). Bernstein et al.
                2019.
                Not for: whoever needs a length, or rows whose noise is skewed.
   FEDPG        the filter of FedPG-BR. A row is dense if more than n/2 rows, itself included, are
                within T = 2 sigma sqrt(V/B), V = 2 ln(2n/desc.delta), B = desc.batch. Of the dense
                rows the one nearest to their mean is the centre; the result is the mean of the rows
                within T of it. If those are fewer than n-f, again with 2 sigma for T; if none is
                dense then, which f rows alone cannot bring about when sigma is right, with the
                radius of the smallest ball of n-f rows around one of them, so that there always is
                a result (the original makes no step). desc.sigma = 0, ours: T is that radius, and
                the inequality above holds with 1 + 2 max(1, sqrt(B/V)): two majorities meet, so
                that a row of G is within the radius of the centre, and the radius is at most a
                diameter. No lambda for a sigma that is given. Cost n^2 dim. Fan et al. 2021.
                Not for: a sigma that is guessed: too small it is not used, too large it lets all
                in.
   Left out of what ByzFL, ByzPy, Garfield, Flower, Blades and FLPoison have. Not of vectors alone:
   DeepSight runs the models; Auror and FoolsGold look at the last layer; LASA picks rows layer by
   layer, of those that AGG_PRE_CLIP_MEDIAN makes; qFedAvg weighs by losses. With a memory of
   earlier rounds: FLDetector, SafeGuard, FoolsGold. The mean with noise added: CRFL, FLAME and what
   is for privacy. Their answer is what a package's clustering makes it: FLAME, the clusterings of
   Blades and FLPoison. They hang on the order of the rows: Garfield's condense puts numbers of the
   first row, whoever sent it, among those of the median; FedRDF takes, per coordinate, the number
   of the row whose place is that of the largest Fourier coefficient. Under another name: RFA is GM,
   mean of medians and averaged median MeaMed, brute MDA, norm clipping AGG_PRE_CLIP before the
   mean, average-nan the mean, which drops such rows.

   PRE-AGGREGATIONS  desc.pre: up to two, in order, in front of any rule; each works on the rows
                that the one before it made
   AGG_PRE_NNM        nearest-neighbour mixing: every row becomes the mean of its n-f nearest rows,
                      itself included. Allouah et al. 2023.
   AGG_PRE_BUCKETING  random groups of desc.bucket (2) rows become their means; f stays, so n/bucket
                      must exceed 2f. Needs desc.rng. Karimireddy et al. 2022.
   AGG_PRE_CLIP       rows longer than desc.clip are shortened to that norm.
   AGG_PRE_ARC        adaptive robust clipping: the floor(2f(n-f)/n) longest rows are shortened to
                      the norm of the next longest. Allouah et al. 2025.
   AGG_PRE_CLIP_MEDIAN  rows longer than the median norm (for even n the mean of the middle two) are
                      shortened to it.

   ATTACKS      agg_attack() makes the row an adversary sends, for experiments. own: what it would
                have sent if honest; s: strength; honest mean, deviation: of all honest rows
   AGG_ATTACK_SIGN_FLIP  -s own (s = 2.5)
   AGG_ATTACK_NOISE      own + s (max own - min own) U[-1,1] per coordinate (s = 3)
   AGG_ATTACK_GAUSSIAN   own + s N(0,1) per coordinate (s = 1)
   AGG_ATTACK_ZERO       0
   AGG_ATTACK_IPM        inner product manipulation: -s honest mean (s = 0.5). Xie et al. 2019.
   AGG_ATTACK_ALIE       a little is enough: honest mean - s honest deviation per coordinate, s from
                         n and f. The deviation of h honest rows is sqrt(sum (x - mean)^2 / h);
                         ByzFL divides by h-1, so that its row is farther out, by sqrt(h/(h-1)).
                         Baruch et al. 2019.
   AGG_ATTACK_MIMIC      a copy of honest row `target`. Karimireddy et al. 2022.
   AGG_ATTACK_INF        +-Inf
   AGG_ATTACK_NAN        NaN
   Adversaries that optimise. m: the honest mean; F: desc.rule, with its pre-aggregations; all
   adversaries are taken to send the same row. They take scratch (agg_attack_scratch_size()), unless
   marked *, and those that try F need desc.rule unless said otherwise.
   What an adversary knows is what it is given: `honest` is the rows it sees and takes for the
   honest ones: all of them (the usual model), the true rows of all adversaries, or its own alone.
   To try F the n-f honest places get the rows seen in turn and f places the row tried; random
   numbers of F come from desc.rng, as nobody knows the server's. MoNNA's pivot counts as honest.
   Directions (desc.direction): -m, minus the deviation, -sgn m; by default the strongest, by cosine
   of F to m (desc.by_distance: by distance), if there is a rule.
   LINE_SEARCH   m + t D, largest ||F - m||: from t = 0 on by a step that doubles while it gets
                 better, then to and fro by 0.8 of it. The first step is ||m||, or for the deviation
                 its norm. 16 tries a direction. As in ByzFL.
   OPT_COS       m + t D/||D||, least cosine of F to m: 40 t from 0.03 to 30 mean honest norms
   MIN_MAX       m + t D, the largest t that is within the honest diameter of all honest rows, less
                 1e-5 of it; MIN_SUM: whose sum of squared distances to them is no more than the
                 least of an honest row. Needs no rule; then D = -m. Shejwalkar, Houmansadr 2021.
   FANG_TRIM *   per coordinate, b uniform in [1, s] (s = 2), rng: for m >= 0 the least honest
                 number, divided by b if positive, else times b; for m < 0 likewise the largest.
   FANG_KRUM     -L sgn of Krum's choice; L is halved, up to 64 times, until Krum picks it or it is
                 below 1e-5. Needs n and f, no rule. Fang et al. 2020.
   NORMALISED    largest angle of F to what F makes of m: a row before^ + L D, D = -sgn m by
                 default, as long as the mean honest row; L, then its length, move by +-l as the
                 angle rises or falls, l a third each time. 21 tries. Fang, Wang, Gong 2025; where
                 they start (L = sqrt dim, length 1, l = 1) and how many tries is ours.
   MDA_FOOLING   c + r u, c the mean of the n-2f honest rows of least diameter, r the largest (up to
                 4 diameters) within that diameter of each of them, u one of the directions or -m
                 without its part along c (that one without a rule). Needs n and f.
   AVG_ZERO *    -(n-f)/f m: the mean of all rows becomes 0. Needs n and f.
   LARGE_NOISE * s U[-1,1] per coordinate (s = 1000), rng
   PARTIAL_DROP * own, with floor(s dim) numbers, any of them, 0 (s = 0.3), rng
   ROP           last - s p, p of norm 1 the part of (1,1,..) orthogonal to 0.9 last + 0.1 m; last:
                 desc.last, m if NULL or not finite; s as ALIE's. Ozfatura et al. 2023.
   ONLINE_MIMIC  a copy of the honest row with the largest z . (x - mu), z following the direction
                 of most variance by Oja's rule, as the authors' code has it: the sum of
                 (x-mu)((x-mu).z) is made of norm 1 first. rng for the first z. desc.memory: rounds,
                 mu, z, plain doubles of the host's byte order, at any address; save it to go on
                 with the same bits. Karimireddy et al. 2022.
   ANTI_CGE      minus the sum of the n-2f shortest honest rows, a little (1e-5) shorter than the
                 next. Needs n and f.
   BLIND_IPM *   -s ||own|| u/||u||, u = desc.step (s = 1); own if there is no step. Needs nobody
                 else's row.
   WORST         the strongest of all of these that can be tried (not online mimic, Inf, NaN), of
                 copies of honest rows, of sweeps in four more directions, and of a climb from the
                 best. At most 560 tries. desc.outcome tells who won. It is one row for all
                 adversaries: f rows of their own each turn the aggregate further. Beside a hill
                 climb with such rows (5 to 7 rows of 2 or 3 numbers) it turns it 0.96 as far, mean
                 of 19 rules, least for CAF, 0.62; not DnC, which falls to a decoy (see RULES).
   Rows seen that are not finite are left out by those that take scratch (none left: AGG_ERR_ROWS);
   the others compute with them. From finite rows the new ones make finite rows. Of a rule with
   random numbers each try is one draw, so that what is found is lucky: desc.outcome has that draw.
   If F refuses every try (a desc.start or desc.trusted with NaN) WORST is an honest row.
   Left out of what ByzFL, ByzPy, Garfield, Blades and FLPoison have (Flower has none). Data or
   models are poisoned, not rows: label flipping, BadNets, DBA, edge cases, Neurotoxin, alternating
   minimisation, model replacement, 3DFed. Against one defence: Blades' for SignGuard (random
   numbers with as many of each sign as m has, in any order) and for its clipped clustering, which
   is left out itself. Under another name: fall of empires is IPM; ByzFL's optimal ALIE and
   IPM are LINE_SEARCH; Blades' adaptive adversary is FANG_TRIM; Garfield's reverse is SIGN_FLIP
   with s = 100, its random numbers are LARGE_NOISE with s = 1, but from 0 to 1.

   SECURITY     (each sentence up to "not promised" has its test: see tests/test_both_promises.c)
   Whatever numbers the rows hold and whatever desc asks for, nothing is read but the rows,
   desc.start, desc.trusted and desc.late, nothing is written but out, scratch and the report, no
   behaviour is undefined, and the call ends: searches stop at desc.budget, iterations at
   desc.iterations or a fixed count. What is wrong with a call is answered by a status before
   anything is written.
   A row that is NULL or has a NaN or Inf convicts its sender: it is dropped, and f shrinks with n,
   so the guarantee holds for the rest. More than f of them: AGG_ERR_ROWS. A row that desc.late
   marks convicts nobody and is not read; too few others: AGG_ERR_BOUND. Finite rows of any size are
   handled: no sum of squares overflows or underflows its way into a wrong choice. For at most f
   hostile rows the inequality above holds, up to rounding.
   Not promised: anything when more than f agents are Byzantine and their rows are finite. That f
   adversaries do nothing: they may move the answer by lambda diameters, every time, in a direction
   they choose. That n rows are n agents: one who sends under several names has several votes. That
   suspicion proves anything. Secrecy: time depends on the numbers, and scratch keeps some of them.
   Pointers and lengths are yours: C cannot check them.

   TIME         Distances take n^2 dim/2 multiply-adds. Beside them MDA and SMEA take at most
                desc.budget operations, CAF that and 14 f n^2, DnC 130 n^2 an iteration, Bulyan,
                Krum and Multi-Krum some n^2 log n. By default that is tens of milliseconds for n <=
                100 and a second or two
                for n = 1000, whatever the rows are, or, if that is more, about three times what the
                distances take. Measured, what an adversary can make you wait: milliseconds for
                n x dim harmless rows (normal, f of them shifted), and how many times as long the
                slowest of fifteen hostile inputs takes: giants of 1e30, in all numbers or in the
                last; rows all equal, all 0, of small integers, of denormals; f rows equal, or
                nearly so, far away; two tight clusters, or five at scales of 1e-6 to 1e6; an offset
                of 1e4 times the spread; f rows missing, of NaN, or with NaN at the end; a graph of
                far pairs that is hard for MDA. One thread of an AMD EPYC, float, gcc -O2, f = 0.3 n
                (0.4 n of 1000) or what the rule survives (`make bench`):
                                      10 x 1000000   100 x 100000   1000 x 1000    slowest input
                mean                   1.85 x1.4        1.9 x1.9     0.0661 x2.4   NaN rows
                CWMed                  2.52 x1.5       7.41 x1.7       1.78 x1.5   NaN last number
                CWTM                   2.72 x1.8       8.96 x1.8       1.82 x1.6   NaN last number
                MeaMed                 4.04 x1.9         11 x1.7       2.25 x1.5   small integers
                CGE                    3.08 x1.6       3.59 x1.7      0.141 x1.8   giant last number
                MoNNA                  4.05 x1.7       4.28 x1.8      0.145 x1.8   NaN rows
                CClip                  13.6 x1.7         20 x1.5       2.36 x1.3   all rows equal
                CClip, start given     11.6 x1.7       12.8 x1.8      0.618 x1.6   all zeros
                winsorised mean        2.88 x1.8       8.89 x1.8       1.85 x1.7   NaN last number
                sign vote              55.5 x1.9       50.8 x1.9       4.87 x1.8   NaN last number
                Aksel                  6.87 x1.4       11.5 x1.3       1.89 x1.4   all rows equal
                FLTrust                11.8 x1.3       13.4 x1.2      0.598 x1.3   shared offset
                SignGuard              5.95 x1.5       7.47 x1.3       22.9 x1.3   all zeros
                GAS                    26.1 x1.0         27 x1.2       5.51 x1.0   all zeros
                Krum                    4.7 x2.1       16.7 x1.7         20 x1.8   NaN last number
                Multi-Krum             5.19 x2.0       17.9 x1.6       20.1 x1.8   NaN last number
                MDA                    5.74 x2.0       18.2 x1.6       67.4 x2.3   giants
                GM                     12.1 x2.2       22.7 x1.9       22.4 x2.0   clusters
                Bulyan                 8.04 x1.9       21.8 x1.7       56.9 x1.2   NaN last number
                CAF                    6.32 x1.9       19.9 x1.5        120 x4.1   giants
                SMEA                   5.58 x2.1       37.8 x1.8        462 x1.5   NaN last number
                DnC                    52.5 x1.0       47.6 x1.2       67.5 x2.3   denormals
                FedPG                  7.46 x1.8       18.6 x1.6       34.6 x1.6   NaN last number
                NNM + mean             19.9 x1.1       37.5 x1.2       42.2 x1.7   two clusters
                bucketing + mean       5.11 x0.9       5.29 x1.0       0.74 x1.1   -
                clipping + mean        6.34 x1.1       7.28 x1.2       1.33 x1.1   NaN last number
                ARC + mean             4.46 x1.1       5.34 x1.2      0.756 x1.2   -
                median clip + mean     5.39 x1.2       6.54 x1.3      0.716 x1.1   NaN last number
   DISTANCES    A squared distance that a rule decides by is off by at most 2^-13 of itself (double:
                2^-36), usually 2^-22, whatever the rows are: far from 0, close together, giants,
                denormals; equal rows have distance 0. Fewer than 16 rows are subtracted and the
                differences squared: 2^-18. For more, dot products are taken of the rows as seen
                from one in their middle, which takes half the time, and every pair for which that
                is not proven to be enough is done as few rows are. GM does so for all pairs, in
                double, where it must. Finite rows, whatever they hold, take about twice the time
                of harmless ones at most.

   STAGES       A call for rows that are not all in memory, or that lie on many machines, in pieces
                of the coordinates. It is made of passes: agg_stages_decide() says what the next one
                is, each of its parts is given to agg_stages_add() in windows of the coordinates, in
                any order of the parts, and agg_stages_decide() decides from what they left, without
                a look at a row. The last pass writes out. agg_aggregate() is these passes with all
                rows at hand: same code, same bits, status and report. Of a pass the parts are the
                slices of agg_slice_begin(), which depend on n and dim alone and are summed in their
                order; or a sample, up to 64 groups of 8 numbers, which may reach 7 numbers into the
                next slice. Many processes: each makes the same calls, adds the parts it has, sends
                what agg_stages_get() has of them to all others, which put it; so all decide alike.
                Only sums and samples travel, in the byte order of the machine: about n^2/2 doubles
                a slice for a rule with distances, n for others, no row ever. They are believed: put
                what processes of your own have got, never an agent's bytes. Random numbers must be
                the same everywhere. out: what each has of it is kept between passes, and means
                nothing before the end, nor after an error.
                Passes over whole rows, of harmless ones: mean, CWTM, MeaMed, CWMed, winsorised and
                sign vote 1; MDA, Krum, Multi-Krum, GM, Bulyan, CAF, SMEA, FedPG, CGE and MoNNA 2;
                Aksel 3; FLTrust 4; CClip 2 + iterations, with a start 1 + iterations. More: a row
                that is not finite (up to twice as many, and one to scan), giants, denormals and
                rows that are close together (distances in doubt are summed again: 1 to 9), GM (one
                for each step towards its gap), report.suspicion (1), a pre-aggregation that looks
                at norms or distances (1), random numbers (1, to scan first).
                Memory: agg_stages_size(): n windows, as many again for each pre-aggregation, and
                what jobs left, some n^2 numbers; it does not grow with dim. Windows are multiples
                of 512 numbers; 2048 of them keep many rows in the cache, 512 make a short piece of
                work. The rows of desc.start and desc.trusted are whole, in memory.
                Not in stages, AGG_ERR_STAGES: DnC, SignGuard and GAS, which draw coordinates from
                whole rows: a random fifth of all, a run anywhere, or a block for each.
   EXAMPLE      rows that could be files, or sockets
       float a[] = {1,2,3,4}, b[] = {2,2,2,2}, c[] = {9,9,9,9}, out[4];
       const float *rows[] = { a, b, c }, *here[3];
       char memory[65536];                                // agg_stages_size() tells how much
       agg_desc desc = agg_make_desc(AGG_CWMED, 3, 4, 1);
       agg_stages *st;
       size_t part, at, width, i;
       agg_status s = agg_stages_begin(&st, &desc, 4, NULL, NULL, memory, sizeof memory);
       if (s != AGG_OK) return 1;
       while ((s = agg_stages_decide(st)) == AGG_MORE) {
           for (part = 0; part < agg_stages_parts(st); part++) {
               agg_stages_part(st, part, &at, &width);    // wider than a window: in several pieces
               for (i = 0; i < 3; i++) here[i] = rows[i] + at;
               agg_stages_add(st, part, at, width, here, out + at);
           }
       }
       printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);        // prints: 2 2 3 4

   MEMORY       every buffer is yours. scratch needs no alignment; out must not overlap a row,
                scratch, desc.start or desc.trusted.
   THREADS      (tests: as for SECURITY) There are no variables, only constants: any function may
                run on any thread, on many at once. Calls at the same time may share desc,
                desc.start, desc.trusted, desc.late and rows, which are only read, never out,
                scratch or report. desc.jobs spreads one call over your threads: jobs may run in any
                order and at the same time, rng is only called from the calling thread. Neither
                changes a bit.
                Not promised: anything if rows change during a call (they are read more than once),
                or if a pool leaves a job out or does one twice.
   DETERMINISM  sums run over a fixed number of lanes in a fixed order, nothing is contracted to
                fma, no libm: the bits of out do not depend on threads, compiler, language,
                optimisation, instruction set, byte order or the width of size_t (`make portability`
                tries them). Needed: IEEE arithmetic, round to nearest, denormals kept. Flags that
                break it are refused where the compiler tells (-ffast-math, /fp:fast and most of
                their parts, the i387). clang does not tell of -ffp-contract=fast,
                -funsafe-math-optimizations and -fno-honor-nans: do not use them. If you do, the
                bits are not promised, but NaN and Inf are still found: that is asked of their bits
                (`make strict` tries each). In other rounding modes, and with denormals flushed
                (FTZ, DAZ), a call ends, stays in its memory and gives finite numbers; with
                denormals flushed rows of ordinary size have the same bits.
   ACCURACY     a weighted mean of rows is formed in agg_real around the row x_0 of most weight:
                with u = 2^-24 (double: 2^-53) its error is at most u |out| + (20 + n/16) u times
                the weighted mean of |x_i - x_0|, coordinate by coordinate; so equal rows come out
                exactly, and rows of no weight do nothing. NNM: x_0 is the centre of the smallest
                ball of n-f rows, and n/64 for n/16.
   ERRORS       calls return agg_status. AGG_OK and AGG_INEXACT: out is written; anything else: out
                is untouched. Nothing prints, aborts or asserts on your data. agg_explain() says in
                words which field of a desc is refused, and why. */

/* clang-format off */
#if !defined(AGGREGATORS_H) && !defined(__cplusplus) && !defined(_MSC_VER) && \
    (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "aggregators.h: this is C99 or C++11: -std=c99 or later, not -std=c89, -ansi or gnu89"
#define AGGREGATORS_H /* and nothing else */
#define AGGREGATORS_IMPLEMENTED
#define AGGI_CORE
#endif
#ifndef AGGREGATORS_H
#define AGGREGATORS_H
#define AGG_VERSION_MAJOR 0
#define AGG_VERSION_MINOR 5
#define AGG_VERSION_PATCH 0
#include <float.h>  /* FLT_EVAL_METHOD */
#include <stddef.h> /* size_t */
#include <stdint.h> /* uint64_t */
#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(_M_FP_FAST)
#error "aggregators.h: -ffast-math and /fp:fast forget NaN, and NaN is the cheapest attack"
#elif defined(__FAST_MATH__) || (defined(__GCC_IEC_559) && !__GCC_IEC_559)
#error "aggregators.h: -funsafe-math-optimizations and its parts round sums as the compiler likes"
#endif
#if defined(FLT_EVAL_METHOD)
  #if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2 || (FLT_EVAL_METHOD == 1 && !defined(__GNUC__))
    #define AGG_EXCESS_PRECISION
  #endif
#elif defined(__TINYC__) && defined(__i386__)
  #define AGG_EXCESS_PRECISION
#endif
#ifdef AGG_EXCESS_PRECISION
#error "aggregators.h: excess precision (the i387) rounds differently: use -msse2 -mfpmath=sse"
#endif
#ifndef AGG_API
  #if !defined(AGG_STATIC)
    #define AGG_API extern
  #elif defined(__GNUC__) || defined(__clang__)
    #define AGG_API static __attribute__((unused))
  #else
    #define AGG_API static
  #endif
#endif
#ifdef AGG_DOUBLE
  typedef double agg_real;
  /* a mixed build fails to link instead of misreading rows */
  #define agg_scratch_size agg_scratch_size_f64
  #define agg_aggregate    agg_aggregate_f64
  #define agg_explain      agg_explain_f64
  #define agg_attack       agg_attack_f64
  #define agg_attack_scratch_size agg_attack_scratch_size_f64
  #define agg_resilience   agg_resilience_f64
  #define agg_stages_size  agg_stages_size_f64
  #define agg_stages_begin agg_stages_begin_f64
  #define agg_stages_add   agg_stages_add_f64
#else
  typedef float agg_real;
#endif
#if defined(__cplusplus) /* as large as an int, with -fshort-enums too */
  #define AGG_ENUM(name) enum name : int
#elif defined(__GNUC__)
  #define AGG_ENUM(name) enum __attribute__((mode(__SI__))) name
#else
  #define AGG_ENUM(name) enum name
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef AGG_ENUM(agg_rule) { /* what each does: RULES, above */
    AGG_MDA,             /* minimum diameter averaging */
    AGG_CWTM,            /* coordinate-wise trimmed mean */
    AGG_MEAMED,          /* mean around the median */
    AGG_CWMED,           /* coordinate-wise median */
    AGG_KRUM,
    AGG_MULTI_KRUM,
    AGG_GM,              /* geometric median */
    AGG_MEAN,
    AGG_BULYAN,
    AGG_CCLIP,           /* centred clipping */
    AGG_CGE,             /* comparative gradient elimination */
    AGG_MONNA,           /* nearest neighbours of a trusted row */
    AGG_CAF,             /* covariance-bound agnostic filter */
    AGG_SMEA,            /* smallest maximum eigenvalue averaging */
    AGG_AKSEL,           /* nearest neighbours of the coordinate-wise median */
    AGG_DNC,             /* divide and conquer */
    AGG_FLTRUST,         /* weights by the angle to a trusted row */
    AGG_SIGNGUARD,       /* the fullest cluster of signs */
    AGG_GAS,             /* gradient splitting */
    AGG_WINSOR,          /* coordinate-wise winsorised mean */
    AGG_SIGN_VOTE,       /* the sign that most rows have */
    AGG_FEDPG,           /* the filter of FedPG-BR */
    AGG_RULE_COUNT
} agg_rule;

#define AGG_STATUS_LIST(X)                                                                         \
    X(AGG_OK,          "ok")                                                                       \
    X(AGG_INEXACT,     "out is written, but budget or rounding ended it early: see the report")    \
    X(AGG_ERR_ARG,     "null pointer, zero rows, zero length, unknown rule or bad option")         \
    X(AGG_ERR_BOUND,   "f is more than this rule survives among n, less the late: see agg_max_f()")\
    X(AGG_ERR_ROWS,    "more than f rows are missing or not finite")                               \
    X(AGG_ERR_PIVOT,   "the trusted row, or the pivot, is missing or not finite")                  \
    X(AGG_ERR_RNG,     "random numbers are needed and the callback is NULL")                       \
    X(AGG_ERR_SIZE,    "n and dim are so large that a size overflows")                             \
    X(AGG_ERR_SCRATCH, "scratch is smaller than agg_scratch_size()")                               \
    X(AGG_MORE,        "stages: another pass over the rows is needed")                             \
    X(AGG_ERR_STAGES,  "stages: a rule that draws coordinates of whole rows has none")
#define AGG_X(id, text) id,
typedef AGG_ENUM(agg_status) { AGG_STATUS_LIST(AGG_X) AGG_STATUS_COUNT } agg_status;
#undef AGG_X

typedef AGG_ENUM(agg_pre) { /* PRE-AGGREGATIONS, above */
    AGG_PRE_NONE,
    AGG_PRE_NNM,         /* nearest neighbour mixing */
    AGG_PRE_BUCKETING,
    AGG_PRE_CLIP,
    AGG_PRE_ARC,         /* adaptive robust clipping */
    AGG_PRE_CLIP_MEDIAN, /* clipping to the median norm */
    AGG_PRE_COUNT
} agg_pre;

typedef AGG_ENUM(agg_attack_kind) { /* ATTACKS, above */
    AGG_ATTACK_SIGN_FLIP,
    AGG_ATTACK_NOISE,
    AGG_ATTACK_GAUSSIAN,
    AGG_ATTACK_ZERO,
    AGG_ATTACK_IPM,      /* inner product manipulation */
    AGG_ATTACK_ALIE,     /* a little is enough */
    AGG_ATTACK_MIMIC,
    AGG_ATTACK_INF,
    AGG_ATTACK_NAN,
    AGG_ATTACK_LINE_SEARCH,
    AGG_ATTACK_OPT_COS,
    AGG_ATTACK_MIN_MAX,
    AGG_ATTACK_MIN_SUM,
    AGG_ATTACK_FANG_TRIM,
    AGG_ATTACK_FANG_KRUM,
    AGG_ATTACK_NORMALISED,
    AGG_ATTACK_MDA_FOOLING,
    AGG_ATTACK_AVG_ZERO,
    AGG_ATTACK_LARGE_NOISE,
    AGG_ATTACK_PARTIAL_DROP,
    AGG_ATTACK_ROP,      /* relocated orthogonal perturbation */
    AGG_ATTACK_ONLINE_MIMIC,
    AGG_ATTACK_ANTI_CGE,
    AGG_ATTACK_BLIND_IPM,
    AGG_ATTACK_WORST,    /* the strongest of all */
    AGG_ATTACK_COUNT
} agg_attack_kind;

typedef AGG_ENUM(agg_attack_direction) { /* where to, from the honest mean m */
    AGG_DIRECTION_ALL,       /* the strongest of those below */
    AGG_DIRECTION_MEAN,      /* -m */
    AGG_DIRECTION_DEVIATION, /* minus the honest deviation of each coordinate */
    AGG_DIRECTION_SIGN,      /* -sgn m */
    AGG_DIRECTION_COUNT
} agg_attack_direction;

typedef struct agg_rng {          /* random numbers from the caller */
    uint64_t (*next)(void *self); /* 64 random bits */
    void *self;
} agg_rng;

/* A job pool of the caller's. run calls job(arg, 0 .. count-1), in any order and on any threads,
   and returns when all are done; run == NULL: everything happens on the calling thread. */
typedef void agg_job(void *arg, size_t index);
typedef struct agg_jobs {
    void (*run)(void *self, size_t count, agg_job *job, void *arg);
    void *self;
} agg_jobs;

/* Zero it or use agg_make_desc(). Fields are only ever added at the end. */
typedef struct agg_desc {
    size_t   n;            /* rows                            required */
    size_t   dim;          /* numbers per row                 required */
    size_t   f;            /* adversaries to survive          0 = trust everybody */
    agg_rule rule;         /*                                 0 = AGG_MDA */
    agg_pre  pre[2];       /* before the rule, in order       0 = none */
    int      classic_krum; /* Krum, Multi-Krum, Bulyan        0 = n-f-1 neighbours, 1 = n-f-2 */
    size_t   q;            /* Multi-Krum: rows averaged       0 = n-f, the most */
    size_t   pivot;        /* MoNNA, FLTrust: row you trust   0 = the first */
    size_t   bucket;       /* bucketing: rows per bucket      0 = 2 */
    double   clip;         /* AGG_PRE_CLIP: largest norm      required there, > 0 */
    double   tau;          /* CClip: clipping radius          0 = median distance to the start */
    size_t   iterations;   /* CClip, DnC                      0 = 3, DnC: 5 */
    const agg_real *start; /* CClip: dim numbers              NULL = coordinate-wise median */
    double   gap;          /* GM: gap to prove; over 1 is 1   0 = 1e-6 */
    size_t   budget;       /* MDA, SMEA, CAF: operations      0 = 2^26 + n^2 (2048 + dim/8); one is
                              beside the distances            a multiply-add, 0.2 to 0.5 ns */
    agg_rng  rng;          /* bucketing, DnC, SignGuard, GAS: required there */
    agg_jobs jobs;         /* job pool                        none */
    const agg_real *trusted; /* FLTrust: dim numbers          NULL = row `pivot`; only read during
                              a call: a desc that is kept needs a row that is kept, and renewed */
    double   share;        /* DnC, SignGuard: share of the    0 = 0.2, SignGuard: 0.1
                              coordinates, <= 1 */
    size_t   blocks;       /* GAS: blocks of coordinates      0 = 1000; dim is the most */
    double   sigma;        /* FedPG: deviation of one         0 = by the smallest ball of n-f rows
                              trajectory's gradient */
    double   delta;        /* FedPG: chance to err, < 1       0 = 0.6 */
    size_t   batch;        /* FedPG: trajectories of a row    0 = 16 */
    const unsigned char *late; /* n flags: 1 = the row is late, which convicts nobody, and is not
                              looked at: see THE GUARANTEE    NULL = none is */
} agg_desc;

/* Zero it, and point weight and suspicion at n numbers each if you want them. */
typedef struct agg_report {
    double *weight;    /* share of each row in out; coordinate-wise rules: the average over
                          coordinates. They sum to 1, or less with clipping, which shortens rows or
                          keeps a part of the start. FLTrust, winsorised mean, sign vote: see
                          RULES. */
    double *suspicion; /* ||x_i - out|| / median_j ||x_j - out||: 1 is usual, large is odd;
                          dropped: infinity; late: 0 */
    size_t  dropped;   /* rows that were NULL or not finite, the late not among them */
    size_t  used;      /* rows with a weight above 0 (counted only if weight is given) */
    size_t  nodes;     /* MDA, SMEA: sets of rows looked at, whole or in part */
    double  diameter;  /* MDA: of the chosen set */
    double  gap;       /* GM: proven, (value - least value) / (n R) <= gap; R: see RULES */
    size_t  late;      /* rows that desc.late marks */
} agg_report;

/* What an attack that tries the rule found. */
typedef struct agg_attack_outcome {
    double cosine, distance; /* of the aggregate to the honest mean, with the row in out */
    size_t evaluations;      /* of the rule */
    agg_attack_kind kind;    /* who made the row: worst */
} agg_attack_outcome;

/* Zero it and set what the kind asks for. Fields are only ever added at the end. */
typedef struct agg_attack_desc {
    size_t          n, f;     /* all rows and adversaries          0 = those of rule */
    agg_attack_kind kind;
    double          strength; /* s                                 0 = the default of the kind */
    size_t          target;   /* mimic: which honest row           0 = the first */
    agg_rng         rng;      /* random bits                       required where ATTACKS says so */
    const agg_desc *rule;     /* the rule under attack             required where ATTACKS says so */
    agg_attack_direction direction; /*                             0 = all, the strongest */
    const agg_real *last;     /* ROP: the last aggregate           NULL = none yet */
    const agg_real *step;     /* blind IPM: theta_t - theta_{t-1}  NULL = none yet */
    void           *memory;   /* online mimic: zeroed at first, then kept from round to round */
    size_t          memory_size;
    void           *scratch;  /* agg_attack_scratch_size() bytes   NULL = none */
    size_t          scratch_size;
    int             by_distance; /* worst                          0 = least cosine, 1 = distance */
    agg_attack_outcome *outcome; /* written if AGG_OK              NULL = not wanted */
} agg_attack_desc;

AGG_API agg_desc agg_make_desc(agg_rule rule, size_t n, size_t dim, size_t f);

/* bytes, whoever is late; 0 = d is unusable, agg_aggregate() says why */
AGG_API size_t agg_scratch_size(const agg_desc *d);

/* rows: n pointers to dim numbers, read only; any may be NULL. out: dim numbers. report may be
   NULL. */
AGG_API agg_status agg_aggregate(const agg_desc *d, const agg_real *const *rows, agg_real *out,
                                 void *scratch, size_t scratch_size, agg_report *report);

/* STAGES, above. The slices of n rows of dim numbers, and where slice s begins; dim for s = their
   number. */
AGG_API size_t agg_slices(size_t n, size_t dim);
AGG_API size_t agg_slice_begin(size_t n, size_t dim, size_t s);

/* The state of a call that is made pass by pass, in memory of the caller's. */
typedef struct agg_stages agg_stages;

/* bytes for windows of that many numbers a row; 0 = d is unusable, agg_stages_begin() says why */
AGG_API size_t agg_stages_size(const agg_desc *d, size_t window);

/* window: 512 or more, unless rows are shorter. missing: n flags, 1 = no row will come, which
   convicts its sender; NULL = none. d is copied; what it points to, and report, stay until the end.
   report may be NULL. */
AGG_API agg_status agg_stages_begin(agg_stages **stages, const agg_desc *d, size_t window,
                                    const unsigned char *missing, agg_report *report, void *memory,
                                    size_t size);

/* From the sums of all parts: AGG_MORE, there is another pass to make; else what agg_aggregate()
   would return, the call is done. AGG_ERR_ARG: parts of the pass are missing, nothing happened; or
   sums were put that no rows have, the call is done. */
AGG_API agg_status agg_stages_decide(agg_stages *stages);

/* How many parts the pass has, and which coordinates they are. */
AGG_API size_t agg_stages_parts(const agg_stages *stages);
AGG_API void agg_stages_part(const agg_stages *stages, size_t part, size_t *at, size_t *width);

/* memory for n rows of a window, if you have none: where row i may be loaded to */
AGG_API agg_real *agg_stages_row(const agg_stages *stages, size_t i);

/* Adds coordinates [at, at + width) of a part, the windows of a part in order, each a multiple of
   512 but for its last. rows: n pointers to these numbers; NULL: as NaN. out: these numbers of the
   result, which are kept for the next pass as this one leaves them. */
AGG_API agg_status agg_stages_add(agg_stages *stages, size_t part, size_t at, size_t width,
                                  const agg_real *const *rows, agg_real *out);

/* The sums of a part, to be sent to other processes: bytes, from here, and to there instead of
   adding the part. A part that the pass has not: nothing happens. */
AGG_API size_t agg_stages_sums_size(const agg_stages *stages);
AGG_API void agg_stages_get(const agg_stages *stages, size_t part, void *sums);
AGG_API void agg_stages_put(agg_stages *stages, size_t part, const void *sums);

/* What is wrong with d, in words: the field, its value and the bound ("f is 5: MDA survives at most
   4 of 10, for n >= 2 f + 1"), or "ok". text: size bytes, cut off where it is full, ended always;
   128 are enough. Returns the status that agg_aggregate() would, before it looks at a row. */
AGG_API agg_status agg_explain(const agg_desc *d, char *text, size_t size);

/* texts, never NULL */
AGG_API const char *agg_status_text(agg_status s);
AGG_API const char *agg_rule_name(agg_rule rule);
AGG_API const char *agg_rule_cost(agg_rule rule); /* "n d", "n^2 d", ... */
AGG_API const char *agg_pre_name(agg_pre pre);
AGG_API const char *agg_attack_name(agg_attack_kind kind);

/* by the paper: linear speed-up in n while f = O(sqrt n) */
AGG_API int agg_rule_is_order_optimal(agg_rule rule);

/* most adversaries the rule survives among n */
AGG_API size_t agg_max_f(agg_rule rule, size_t n);

/* lambda of the table; +infinity if the rule is not resilient for this f; -1 if the table has no
   value for the rule */
AGG_API double agg_lambda(agg_rule rule, size_t n, size_t f, size_t dim);

/* trajectories per agent until J* - J <= sqrt(eps_bias)/(1-gamma) + eps, up to the problem's
   constant: eps^-2 log(1/eps) (1/n + lambda^2 log n); -1 if lambda is */
AGG_API double agg_sample_complexity(agg_rule rule, double eps, size_t n, size_t f, size_t dim);

/* the largest ||out - mean_G|| / diameter_G over all sets G of n-f rows, and that G as a bit mask
   (worst may be NULL). rows must be finite. For teaching and tests: it visits all C(n,f) sets.
   n <= 63. */
AGG_API agg_status agg_resilience(const agg_real *const *rows, size_t n, size_t dim, size_t f,
                                  const agg_real *out, double *ratio, uint64_t *worst);

/* out: dim numbers, may be own. own == NULL: the honest mean. honest may be NULL for kinds that
   look at own alone. */
AGG_API agg_status agg_attack(const agg_attack_desc *a, const agg_real *const *honest,
                              size_t honest_n, size_t dim, const agg_real *own, agg_real *out);

/* bytes of a.scratch; 0: none is needed, or a is unusable, and then agg_attack() says why */
AGG_API size_t agg_attack_scratch_size(const agg_attack_desc *a, size_t honest_n, size_t dim);

/* bytes of a.memory; 0: none is needed, or a is unusable, and then agg_attack() says why */
AGG_API size_t agg_attack_memory_size(const agg_attack_desc *a, size_t dim);
#ifdef __cplusplus
}
#endif
#endif /* AGGREGATORS_H */
/* clang-format on */

/* ---- stop here if you only want the API ------------------------------------------------------ */

/* ---- the core: what both implementations stand on, brought by whichever comes first ---------- */

#if defined(AGGREGATORS_IMPLEMENTATION) || defined(RESNHARPG_IMPLEMENTATION)
#ifndef AGGI_CORE
#define AGGI_CORE
/* Compiler, AVX2 twins, numbers, memory. resnharpg.h uses these aggi_ names as well; all are
   static, so that each of two files may have its own copy. */
#include <string.h> /* memcpy, memmove, memset */

/* clang-format off */

#if (defined(__GNUC__) && !defined(__TINYC__)) || defined(__clang__) /* clang-cl has no __GNUC__ */
  #define AGGI_GNU
#endif

/* AGGI_BEGIN_CODE .. AGGI_END_CODE stand around every function: no fma behind our back, which would
   make the bits depend on the machine, loops become vector code at plain -O2 already, and C++ does
   not mind the casts of C. */
#if !defined(__cplusplus)
  #define AGGI_CASTS
#elif defined(__clang__)
  #define AGGI_CASTS _Pragma("clang diagnostic ignored \"-Wold-style-cast\"")                      \
                     _Pragma("clang diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#elif defined(AGGI_GNU)
  #define AGGI_CASTS _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                        \
                     _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")                          \
                     _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#endif
#if defined(__clang__) /* float_control undoes -ffast-math and its parts where the target has it */
  #define AGGI_BEGIN_CODE                                                                          \
      _Pragma("clang diagnostic push")                                                             \
      _Pragma("clang diagnostic ignored \"-Wignored-pragmas\"")                                    \
      AGGI_CASTS                                                                                   \
      _Pragma("float_control(precise, on, push)")                                                  \
      _Pragma("STDC FP_CONTRACT OFF")
  #define AGGI_END_CODE                                                                            \
      _Pragma("STDC FP_CONTRACT DEFAULT")                                                          \
      _Pragma("float_control(pop)")                                                                \
      _Pragma("clang diagnostic pop")
#elif defined(AGGI_GNU)
  #if FLT_EVAL_METHOD == 1 /* s390x as ISO C: float sums in double, if one lets it */
    #define AGGI_PRECISION _Pragma("GCC optimize(\"excess-precision=fast\")")
  #else
    #define AGGI_PRECISION
  #endif
  #define AGGI_BEGIN_CODE                                                                          \
      _Pragma("GCC diagnostic push")                                                               \
      AGGI_CASTS                                                                                   \
      _Pragma("GCC push_options")                                                                  \
      _Pragma("GCC optimize(\"fp-contract=off\", \"tree-vectorize\", \"vect-cost-model=dynamic\")")\
      AGGI_PRECISION
  #define AGGI_END_CODE                                                                            \
      _Pragma("GCC pop_options")                                                                   \
      _Pragma("GCC diagnostic pop")
#elif defined(_MSC_VER)
  #define AGGI_BEGIN_CODE __pragma(fp_contract(off))
  #define AGGI_END_CODE   __pragma(fp_contract(on))
#else
  #define AGGI_BEGIN_CODE
  #define AGGI_END_CODE
#endif

#ifdef AGGI_GNU
  #define AGGI_INLINE        static inline __attribute__((always_inline, unused))
  #define AGGI_UNUSED        __attribute__((unused))
  #define AGGI_RESTRICT      __restrict__
  #define AGGI_VECTOR(bytes) __attribute__((vector_size(bytes)))
  #define AGGI_PREFETCH(p)   __builtin_prefetch(p)
#else
  #define AGGI_INLINE        static inline
  #define AGGI_UNUSED
  #define AGGI_RESTRICT
  #define AGGI_VECTOR(bytes) /* a "vector" of one number: the lanes stay, and so do the bits */
  #define AGGI_PREFETCH(p)   ((void)(p))
#endif

/* AVX2 twins. A kernel is a template macro KERNEL(suffix, attribute, vec): functions whose names
   end in suffix, with vectors of type vec. AGGI_TWINS(KERNEL, vec, wide) makes them for the
   instructions of the build, suffix _base, and, where AVX2 may be there at run time, once more with
   the wide type, suffix _avx2 (without fma, so with the same bits). AGGI_TWIN(avx2, name) is the
   one to call. The type changes because gcc keeps vectors wider than the target's in memory. */
#if defined(AGGI_GNU) && defined(__SSE2__)
  #define AGGI_X86
#endif
#if defined(_WIN32) && (!defined(__clang__) || defined(_MSC_VER)) && !defined(AGG_NO_DISPATCH)
  #define AGG_NO_DISPATCH /* gcc does not align the stack there as AVX needs it (its bug 54412),
                             clang-cl does not link what tells of AVX2 */
#endif
#define AGGI_NOTHING
#if defined(AGGI_X86) && !defined(__AVX2__) && !defined(AGG_NO_DISPATCH)
  #define AGGI_AVX2                     __attribute__((target("avx2")))
  #define AGGI_HAS_AVX2                 (__builtin_cpu_supports("avx2") != 0)
  #define AGGI_TWINS(KERNEL, vec, wide) KERNEL(_base, AGGI_NOTHING, vec)                           \
                                        KERNEL(_avx2, AGGI_AVX2, wide)
  #define AGGI_TWIN(avx2, name)         ((avx2) ? name##_avx2 : name##_base)
#else
  #define AGGI_HAS_AVX2                 0
  #define AGGI_TWINS(KERNEL, vec, wide) KERNEL(_base, AGGI_NOTHING, vec)
  #define AGGI_TWIN(avx2, name)         ((void)(avx2), name##_base)
#endif
#if defined(__AVX512F__)
  typedef agg_real aggi_vec AGGI_VECTOR(64);
#elif defined(__AVX__)
  typedef agg_real aggi_vec AGGI_VECTOR(32);
#else
  typedef agg_real aggi_vec AGGI_VECTOR(16);
#endif
typedef agg_real aggi_wide AGGI_VECTOR(32);
#ifdef __AVX__ /* for kernels that want many registers more than long ones */
  typedef aggi_wide aggi_vec32;
#else
  typedef aggi_vec aggi_vec32;
#endif
#define AGGI_LOAD(v, from)        memcpy(&(v), (from), sizeof(v))
#define AGGI_STORE(to, v)         memcpy((to), &(v), sizeof(v))

/* no macro tells of -fsingle-precision-constant */
typedef char aggi_constants_must_be_double[sizeof 1.0 == sizeof(double) ? 1 : -1];

/* clang-format on */

AGGI_BEGIN_CODE

/* Numbers: no libm, so the same bits everywhere. */
AGGI_INLINE uint64_t aggi_bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

AGGI_INLINE double aggi_from_bits(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

#define AGGI_INF  0x7ff0000000000000u /* bits of +Inf, of a NaN, of the sign */
#define AGGI_NAN  0x7ff8000000000000u
#define AGGI_SIGN 0x8000000000000000u
#ifdef AGG_DOUBLE
#define AGGI_REAL_MAX DBL_MAX
#define AGGI_REAL_ULP (DBL_EPSILON / 2)
typedef uint64_t aggi_word; /* the bits of an agg_real */
typedef int64_t aggi_votes; /* counts rows, as wide as an agg_real: loops of both are vector code */
#define AGGI_REAL_INF  AGGI_INF
#define AGGI_REAL_UNIT 0x0010000000000000u /* 1 in the exponent */
#else
#define AGGI_REAL_MAX  ((double)FLT_MAX)
#define AGGI_REAL_ULP  ((double)FLT_EPSILON / 2)
typedef uint32_t aggi_word;
typedef int32_t aggi_votes;
#define AGGI_REAL_INF  0x7f800000u
#define AGGI_REAL_UNIT 0x00800000u
#endif

/* Whether a number is finite is asked of its bits (NaN and Inf: the exponent is all ones), never of
   arithmetic or a comparison: some flags allow a compiler to believe that there is no NaN. clang
   may even look through the bits at the sum they came from, so it is not told where they are
   from. */
#ifdef __clang__
#define AGGI_OPAQUE(x) __asm__("" : "+r"(x))
#else
#define AGGI_OPAQUE(x) ((void)0)
#endif

AGGI_INLINE uint64_t aggi_opaque_bits(double x) {
    uint32_t high = (uint32_t)(aggi_bits(x) >> 32), low = (uint32_t)aggi_bits(x);
    AGGI_OPAQUE(high);
    AGGI_OPAQUE(low);
    return (uint64_t)high << 32 | low;
}

AGGI_INLINE int aggi_finite(double x) { return (aggi_opaque_bits(x) & AGGI_INF) != AGGI_INF; }

/* 0 or -0 */
AGGI_INLINE int aggi_is_zero(double x) { return aggi_opaque_bits(x) << 1 == 0; }

AGGI_INLINE int aggi_is_number(double x) { return (aggi_opaque_bits(x) & ~AGGI_SIGN) <= AGGI_INF; }

/* low <= x <= high; no for NaN */
AGGI_INLINE int aggi_within(double x, double low, double high) {
    return aggi_is_number(x) && x >= low && x <= high;
}

/* not finite, for loops that shall become vector code: then the top bit is 1 */
AGGI_INLINE uint64_t aggi_odd(double x) { return (aggi_bits(x) & AGGI_INF) + 0x0010000000000000u; }

/* Masks instead of branches, so that a loop becomes vector code. All ones if the top bit is set; if
   a > b, for a and b without the top bit; m ? a : b, bit by bit. */
AGGI_INLINE uint64_t aggi_top(uint64_t a) { return 0u - (a >> 63); }

AGGI_INLINE uint64_t aggi_above(uint64_t a, uint64_t b) { return aggi_top(b - a); }

AGGI_INLINE double aggi_pick(uint64_t m, double a, double b) {
    return aggi_from_bits((aggi_bits(a) & m) | (aggi_bits(b) & ~m));
}

/* log x, 0.83 ulp. log(+-0) = -Inf, negative: NaN, +Inf: +Inf; denormals are made normal first.
   x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f): log(1 + f) = 2 atanh s =
   2 s + s R, R = s^2 L(s^2), and 2 s = f - (f^2/2 - s f^2/2), where f is exact. k becomes a number
   by being written below the leading bit of 2^52. */
AGGI_INLINE double aggi_log_edge(double x, double y) {
    const uint64_t b = aggi_bits(x);
    y = aggi_pick(aggi_above(b, AGGI_INF - 1u), x, y);
    y = aggi_pick(aggi_top(b), aggi_from_bits(AGGI_NAN), y);
    return aggi_pick(aggi_top((b & ~AGGI_SIGN) - 1u), aggi_from_bits(AGGI_INF | AGGI_SIGN), y);
}

AGGI_INLINE double aggi_log(double x) {
    const uint64_t tiny = aggi_top(aggi_bits(x) - 0x0010000000000000u);
    const uint64_t b = aggi_bits(aggi_pick(tiny, x * 18014398509481984.0, x));
    const uint64_t t = b + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    const double k = (aggi_from_bits((t >> 52) | 0x4330000000000000u) - 4503599627371519.0) -
                     aggi_pick(tiny, 54.0, 0.0);
    const double f = aggi_from_bits((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    const double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    const double P = 0.18182889125261723 + z * (0.15331721600556042 + z * 0.14616449685043406);
    const double L = 0.28571428625975487 + z * (0.22222211134795081 + z * P);
    const double R = z * (0.66666666666666696 + z * (0.39999999999899505 + z * L));
    const double low = k * 5.4979230187083712e-14;
    return aggi_log_edge(x, k * 0.69314718055989033 + (f - (h - (s * (h + R) + low))));
}

/* m - s^2 exactly, for s in [1, 2] within an ulp or two of sqrt(m): s in two halves of 26 bits. */
AGGI_INLINE double aggi_sqrt_residual(double m, double s) {
    const double hi = (s + 201326592.0) - 201326592.0, lo = s - hi;
    return ((m - hi * hi) - 2.0 * hi * lo) - lo * lo;
}

/* sqrt(x) = 2^h sqrt(m), 1 <= m < 4, by Newton for 1/sqrt(m) from a guess in the bits, one step of
   Heron, and then the exact test: s is the nearest number if |sqrt(m) - s| < u/2, u = 2^-52, that
   is -s u < m - s^2 <= s u (all are multiples of u^2, so the u^2/4 of the square does not matter).
   Correctly rounded; negative: NaN, -0: -0. */
AGGI_INLINE double aggi_sqrt_soft(double x) {
    const uint64_t tiny = aggi_top(aggi_bits(x) - 0x0010000000000000u);
    const uint64_t b = aggi_bits(aggi_pick(tiny, x * 18014398509481984.0, x));
    const uint64_t e = (b >> 52) & 0x7ffu, odd = ~e & 1u;
    const uint64_t mb = (b & 0x000fffffffffffffu) | ((1023u + odd) << 52);
    const uint64_t h = ((e - odd + 1023u) >> 1) - (27u & tiny);
    const double m = aggi_from_bits(mb), half = 0.5 * m, u = 2.2204460492503131e-16;
    double y = aggi_from_bits(0x5fe6eb50c7b537a9u - (mb >> 1)), s, r;
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    s = m * y;
    s = s + 0.5 * y * aggi_sqrt_residual(m, s);
    r = aggi_sqrt_residual(m, s);
    s = s + aggi_pick(aggi_top(aggi_bits(s * u - r)), u, 0.0) -
        aggi_pick(aggi_top(aggi_bits((s * u + r) - 0.5 * u * u)), u, 0.0);
    y = aggi_pick(aggi_above(aggi_bits(x), AGGI_INF - 1u), x, s * aggi_from_bits(h << 52));
    y = aggi_pick(aggi_top(aggi_bits(x)), aggi_from_bits(AGGI_NAN), y);
    return aggi_pick(aggi_top((aggi_bits(x) & ~AGGI_SIGN) - 1u), x, y);
}

#ifdef AGGI_X86 /* the instruction rounds correctly too: same bits, sooner; sqrt() may call libm */
AGGI_INLINE double aggi_sqrt(double x) {
    typedef double pair AGGI_VECTOR(16);
    const pair v = {x, 0};
    return __builtin_ia32_sqrtsd(v)[0];
}
#else
AGGI_INLINE double aggi_sqrt(double x) { return aggi_sqrt_soft(x); }
#endif

/* 53 random bits, 0 .. 2^53 - 1; times AGGI_ULP53 a number in [0,1). */
#define AGGI_ULP53 (1.0 / 9007199254740992.0)

AGGI_INLINE double aggi_draw53(const agg_rng *rng) { return (double)(rng->next(rng->self) >> 11); }

/* Is every number of x finite? Adding 1 to an exponent of all ones carries into the sign. */
AGGI_INLINE int aggi_all_finite_body(const agg_real *x, size_t n) {
    aggi_word carry = 0, b;
    size_t i;
    for (i = 0; i < n; i++) {
        memcpy(&b, x + i, sizeof b);
        carry |= (b & AGGI_REAL_INF) + AGGI_REAL_UNIT;
    }
    return !(carry & ~(~(aggi_word)0 >> 1));
}

AGGI_UNUSED static int aggi_all_finite(const agg_real *x, size_t n) {
    return aggi_all_finite_body(x, n);
}

/* Memory is laid out twice by the same code: with base == NULL to count, then for real. Every piece
   starts a cache line. */
#define AGGI_ALIGN ((size_t)64)

typedef struct aggi_arena {
    unsigned char *base;
    size_t used, size;
    int bad; /* a size overflowed */
} aggi_arena;

AGGI_UNUSED static aggi_arena aggi_arena_make(void *memory, size_t size) {
    const size_t past = memory ? (size_t)((uintptr_t)memory % AGGI_ALIGN) : 0;
    const size_t skip = past ? AGGI_ALIGN - past : 0;
    aggi_arena a;
    a.base = memory && size >= skip ? (unsigned char *)memory + skip : NULL;
    a.size = size >= skip ? size - skip : 0;
    a.used = 0;
    a.bad = 0;
    return a;
}

/* Bytes that hold what was counted, wherever they begin; 0: it does not fit a size_t. */
AGGI_UNUSED static size_t aggi_arena_size(const aggi_arena *a) {
    return a->bad ? 0 : a->used + AGGI_ALIGN;
}

AGGI_UNUSED static void *aggi_take(aggi_arena *a, size_t count, size_t each) {
    const size_t most = (size_t)-1 / 4, at = (a->used + AGGI_ALIGN - 1) / AGGI_ALIGN * AGGI_ALIGN;
    if (a->bad || (each && count > most / each) || at > most - count * each) {
        a->bad = 1;
        return NULL;
    }
    a->used = at + count * each;
    return a->base && a->used <= a->size ? a->base + at : NULL;
}

AGGI_UNUSED static agg_real *aggi_take_real(aggi_arena *a, size_t count) {
    return (agg_real *)aggi_take(a, count, sizeof(agg_real));
}

AGGI_UNUSED static double *aggi_take_f64(aggi_arena *a, size_t count) {
    return (double *)aggi_take(a, count, sizeof(double));
}

AGGI_UNUSED static size_t *aggi_take_size(aggi_arena *a, size_t count) {
    return (size_t *)aggi_take(a, count, sizeof(size_t));
}

AGGI_INLINE int aggi_product_fits(size_t a, size_t b) { return !a || b <= (size_t)-1 / 64 / a; }

/* ---- what a check has to say: a call that refuses keeps it to itself, agg_explain() and its like
   write it down */

/* a text of the caller's: cut off where it is full, ended always */
typedef struct aggi_words {
    char *text;
    size_t size, used;
} aggi_words;

/* why something is refused: # stands for the next number, @ for the name */
typedef struct aggi_complaint {
    const char *text, *name;
    double number[5];
} aggi_complaint;

AGGI_UNUSED static void aggi_say(aggi_words *w, const char *text) {
    for (; *text && w->used + 1 < w->size; text++) w->text[w->used++] = *text;
    if (w->size) w->text[w->used] = 0;
}

AGGI_UNUSED static aggi_words aggi_words_make(char *text, size_t size) {
    aggi_words w;
    w.text = text;
    w.size = text ? size : 0;
    w.used = 0;
    aggi_say(&w, "");
    return w;
}

/* n, with zeros before it up to `least` digits */
AGGI_UNUSED static void aggi_say_digits(aggi_words *w, uint64_t n, int least) {
    char text[24];
    size_t at = sizeof text - 1;
    text[at] = 0;
    for (; n || least > 0; n /= 10, least--) text[--at] = (char)('0' + n % 10);
    aggi_say(w, text + at);
}

/* x = m 10^e with the six digits of m that count, without zeros at its end; 1e-300 <= x */
AGGI_UNUSED static uint64_t aggi_six_digits(double x, int *e) {
    uint64_t m;
    *e = 0;
    while (x >= 1e6) {
        x /= 10;
        ++*e;
    }
    while (x < 1e5) {
        x *= 10;
        --*e;
    }
    for (m = (uint64_t)(x + 0.5); m % 10 == 0; m /= 10) ++*e;
    return m;
}

/* of what is not whole, or is large: 0.05, 1.5, 15e-13, 1e30 */
AGGI_UNUSED static void aggi_say_fraction(aggi_words *w, double x) {
    uint64_t m, unit = 1;
    int e, i;
    m = aggi_six_digits(x, &e);
    if (e > -10 && e <= 0) {
        for (i = e; i < 0; i++) unit *= 10;
        aggi_say_digits(w, m / unit, 1);
        if (e) aggi_say(w, ".");
        aggi_say_digits(w, m % unit, -e); /* none if e is 0 */
        return;
    }
    aggi_say_digits(w, m, 1);
    aggi_say(w, e < 0 ? "e-" : "e");
    aggi_say_digits(w, (uint64_t)(e < 0 ? -e : e), 1);
}

/* (below 1e-300: 0, for denormals may be flushed) */
AGGI_UNUSED static void aggi_say_number(aggi_words *w, double x) {
    const double a = aggi_from_bits(aggi_bits(x) & ~AGGI_SIGN);
    if (!aggi_is_number(x)) {
        aggi_say(w, "NaN");
        return;
    }
    if (x < 0) aggi_say(w, "-");
    if (!aggi_finite(a))
        aggi_say(w, "infinity");
    else if (a < 1e-300 || (a < 1e15 && (double)(uint64_t)a == a))
        aggi_say_digits(w, (uint64_t)a, 1);
    else
        aggi_say_fraction(w, a);
}

AGGI_UNUSED static void aggi_say_complaint(aggi_words *w, const aggi_complaint *c) {
    const double *number = c->number;
    const char *t;
    char letter[2] = {0, 0};
    for (t = c->text; *t; t++) {
        letter[0] = *t;
        if (*t == '#')
            aggi_say_number(w, *number++);
        else
            aggi_say(w, *t == '@' ? c->name : letter);
    }
}

AGGI_END_CODE
#endif /* AGGI_CORE */
#endif

#if defined(AGGREGATORS_IMPLEMENTATION) && !defined(AGGREGATORS_IMPLEMENTED)
#define AGGREGATORS_IMPLEMENTED
/* How a call runs; numbers are sections.
   agg_aggregate() checks desc against the tables of rules and pre-aggregations (13), lays out
   scratch by what their rows say they need (3, 14) and collects the rows that are not NULL. Then it
   makes an attempt (14): pre-aggregations make new rows of the rows in play (12), and the function
   of the rule (7 to 11) decides, from distances (4) or sorted columns (6), which rows count with
   which weight, or writes the result itself. Weights become the result by a weighted sum (5).
   Kernels (4 to 6, and 9) run as jobs, one for each slice of the coordinates (3), their inner loops
   as AVX2 twins (the core, above). If a sum shows that some row is not finite, the rows are scanned
   and a second attempt is made without the bad ones (14, aggi_aggregate). At last the result is
   copied out and the report filled in. In stages (15) the same code runs, with the kernels put off
   until their rows come. What a host can ask is in 16, attacks are in 17.
   aggi_ names are private. */

/* ---- 1 configuration ------------------------------------------------------------------------- */

/* clang-format off */

#ifndef AGG_ASSERT
  #include <assert.h>
  #define AGG_ASSERT(x) assert(x) /* our own bugs only, never bad input */
#endif
#if defined(__clang__) || (defined(AGGI_GNU) && __GNUC__ >= 9)
  #define AGGI_CONVERT(v, type) __builtin_convertvector(v, type)
#endif
#define AGGI_LANES  ((size_t)8)    /* accumulators of a sum: part of its definition */
#define AGGI_BLOCK  ((size_t)256)  /* coordinates summed in agg_real, before it goes on in double */
#define AGGI_CHUNK  ((size_t)2048) /* coordinates that stay in the cache for all pairs */
#define AGGI_GRAIN  ((size_t)512)  /* coordinates of windows: whole blocks of every sum */
#define AGGI_NARROW ((size_t)512)  /* the same in the nearest cache, for few rows */
#define AGGI_GRAM   ((size_t)16)   /* rows from which on distances come from dot products */
#define AGGI_PACKED (2048 / sizeof(agg_real)) /* coordinates of dot products, summed in agg_real */
#define AGGI_COLS   ((size_t)64)   /* columns sorted together */
#define AGGI_GROUP  ((size_t)8)    /* columns of the widest vector */
#define AGGI_RUN    ((size_t)16)   /* rows sorted in registers */
#define AGGI_SQUARE_LANES ((size_t)32) /* accumulators of the squares of one row */
#define AGGI_FOUR   ((size_t)4)    /* rows, of which all subsets are summed, and new rows at once */
#define AGGI_LINE   (64 / sizeof(agg_real)) /* coordinates in a cache line */
#define AGGI_STRIP  ((size_t)128)  /* coordinates mixed together */
#define AGGI_TABLES ((size_t)16)   /* sets of subsets that stay in the cache */
#define AGGI_SPAN   ((size_t)2048) /* coordinates of many rows that are summed in one go, */
#define AGGI_AHEAD  ((size_t)96)   /* and how many before their turn they are asked for */
#define AGGI_BUNCH  ((size_t)16)   /* rows summed in registers */
#define AGGI_SLICES 16             /* parts of the coordinates, at most: jobs of a kernel */
#define AGGI_FAR    65536.0        /* GM: rows beyond this many radii are only a direction */
#define AGGI_SPREAD 128.0          /* GM: see aggi_gm_is_rough() */
#define AGGI_KRYLOV ((size_t)64)   /* Lanczos: steps of a cycle, */
#define AGGI_CYCLES 2              /* cycles, */
#define AGGI_ROUGH  ((size_t)4)    /* steps when the budget is spent, */
#define AGGI_RESIDUAL 1e-10        /* and what is left of A v - value v, relative to the value */
#ifdef AGG_DOUBLE
  #define AGGI_TINY 1e-280         /* a sum of squares outside these two may have lost terms */
  #define AGGI_HUGE 1e280
  #define AGGI_VANISH 1e-156       /* the square of a smaller number has no place */
  #define AGGI_HUGE_SEEN AGGI_HUGE /* a part of a sum beyond this foretells it */
  #define AGGI_LIGHT  (-1022)      /* weights below 2^AGGI_LIGHT are lifted by 2^AGGI_LIFT */
  #define AGGI_LIFT   0
  #define AGGI_LARGE  400u         /* 2^this and its square are harmless, but worth a look */
#else
  #define AGGI_TINY 1e-24
  #define AGGI_HUGE 1e300
  #define AGGI_VANISH 1e-15
  #define AGGI_HUGE_SEEN 1e33
  #define AGGI_LIGHT  (-90)
  #define AGGI_LIFT   100
  #define AGGI_LARGE  40u
#endif

/* clang-format on */

AGGI_BEGIN_CODE

/* ---- 2 numbers and order --------------------------------------------------------------------- */

AGGI_INLINE double aggi_infinity(void) { return aggi_from_bits(AGGI_INF); }

static double aggi_abs(double v) { return v < 0 ? -v : v; }

static double aggi_min(double a, double b) { return a < b ? a : b; }

static double aggi_max(double a, double b) { return a > b ? a : b; }

AGGI_INLINE double aggi_squared(double v) { return v * v; }

/* 2^e, -1022 <= e <= 1023 */
static double aggi_pow2(int e) { return aggi_from_bits((uint64_t)(e + 1023) << 52); }

/* v 2^e, in two steps, as 2^e may be out of range; below 2^-2000 it does not matter how much */
static double aggi_scaled(double v, int e) {
    if (e < -2000) e = -2000;
    return v * aggi_pow2(e / 2) * aggi_pow2(e - e / 2);
}

/* floor(log2 |v|), v normal */
static int aggi_exponent(double v) { return (int)(aggi_bits(v) >> 52 & 2047) - 1023; }

/* a rounding error below 0 counts as 0 */
static double aggi_root0(double v) { return v > 0 ? aggi_sqrt(v) : 0; }

static double aggi_clamp(double v) { return aggi_max(-AGGI_REAL_MAX, aggi_min(v, AGGI_REAL_MAX)); }

/* Sums over coordinates run in lanes: lane[k % lanes] += term for k = 0 .. width - 1, term being an
   expression in k. The inner loop has a fixed length, so that it becomes vector code. */
#define AGGI_ADD_IN_LANES(lane, lanes, width, k, term)                                             \
    do {                                                                                           \
        size_t from_, l_;                                                                          \
        for (from_ = 0; from_ + (lanes) <= (width); from_ += (lanes)) {                            \
            for (l_ = 0; l_ < (lanes); l_++) {                                                     \
                const size_t k = from_ + l_;                                                       \
                (lane)[l_] += (term);                                                              \
            }                                                                                      \
        }                                                                                          \
        for (l_ = from_; l_ < (width); l_++) {                                                     \
            const size_t k = l_;                                                                   \
            (lane)[k - from_] += (term);                                                           \
        }                                                                                          \
    } while (0)

/* The twin for such a sum; the plain one where there is not one full set of lanes: gcc forgets
   vzeroupper on the way around the vector loop, and SSE code after that runs at half its speed. */
#define AGGI_TWIN_OF_LANES(avx2, width, name) AGGI_TWIN((avx2) && (width) >= 8, name)

/* the end of such a sum: the lanes in a fixed tree */
AGGI_INLINE double aggi_sum8(const double *lane) {
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static double aggi_sum(const double *v, size_t n) {
    double sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += v[i];
    return sum;
}

/* Lengths are compared as roots: sqrt(||a - b||) is finite and not 0 for any two different rows,
   from the smallest denormal to the largest double, where ||a - b|| may overflow and its square may
   do either. aggi_ratio() goes back. */
static double aggi_ratio(double root_a, double root_b) {
    return root_a / root_b * (root_a / root_b);
}

typedef struct aggi_item {
    double key;
    size_t index;
} aggi_item;

/* m ? a : b, for m = 0 or 1 without a branch that nobody could guess */
AGGI_INLINE aggi_item aggi_pick_item(size_t m, const aggi_item *a, const aggi_item *b) {
    aggi_item v;
    v.key = aggi_pick(0 - (uint64_t)m, a->key, b->key);
    v.index = (a->index & (0 - m)) | (b->index & ~(0 - m));
    return v;
}

/* to = the sorted runs from[0 .. w-1] and from[w .. 2w-1] merged, from both ends at once: w steps
   exhaust neither run. Of equal keys the first run's come first. */
static void aggi_merge_pair(const aggi_item *from, size_t w, aggi_item *to) {
    const aggi_item *a = from, *b = from + w, *a_last = b - 1, *b_last = b + w - 1;
    aggi_item *last = to + 2 * w - 1;
    size_t k;
    for (k = 0; k < w; k++) {
        const size_t less = b->key < a->key, more = !(b_last->key < a_last->key);
        to[k] = aggi_pick_item(less, b, a);
        *(last - k) = aggi_pick_item(more, b_last, a_last);
        b += less;
        a += 1 - less;
        b_last -= more;
        a_last -= k + 1 < w ? 1 - more : 0;
    }
}

/* the same for runs of w and fewer items, n together */
static void aggi_merge_rest(const aggi_item *from, size_t w, size_t n, aggi_item *to) {
    const aggi_item *a = from, *b = from + w, *a_end = b, *b_end = from + n;
    while (a < a_end && b < b_end) *to++ = b->key < a->key ? *b++ : *a++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *to);
}

/* Stable merge sort by key: ties stay in index order. v has room for 2 n: scratch behind the n. */
static void aggi_sort(aggi_item *v, size_t n) {
    aggi_item *from = v, *to = v + n, *was;
    size_t width, at;
    for (width = 1; width < n; width *= 2) {
        for (at = 0; n - at >= 2 * width; at += 2 * width)
            aggi_merge_pair(from + at, width, to + at);
        if (n - at > width)
            aggi_merge_rest(from + at, width, n - at, to + at);
        else
            memcpy(to + at, from + at, (n - at) * sizeof *v);
        was = from;
        from = to;
        to = was;
    }
    if (from != v) memcpy(v, from, n * sizeof *v);
}

/* item = the n keys and their indices in ascending order; index `first` goes to the front whatever
   its key (n: there is none), keys must be >= 0 then. */
static void aggi_rank(aggi_item *item, const double *key, size_t n, size_t first) {
    size_t i;
    for (i = 0; i < n; i++) {
        item[i].key = key[i];
        item[i].index = i;
    }
    if (first < n) item[first].key = -1;
    aggi_sort(item, n);
    if (first < n) item[0].key = key[first];
}

/* The median of lengths whose roots are sorted, as a root: for even n, sqrt((a^2 + b^2) / 2). */
static double aggi_median_root(const aggi_item *sorted, size_t n) {
    const double a = sorted[(n - 1) / 2].key, b = sorted[n / 2].key;
    return a < b ? b * aggi_root0(0.5 + 0.5 * (a / b) * (a / b)) : b;
}

/* how many of the numbers are below t */
AGGI_INLINE size_t aggi_count_body(const double *v, size_t n, double t) {
    size_t j, count = 0;
    for (j = 0; j < n; j++) count += v[j] < t;
    return count;
}

#define AGGI_COUNT_KERNEL(suffix, attribute, vec)                                                  \
    attribute static size_t aggi_count##suffix(const double *v, size_t n, double t) {              \
        return aggi_count_body(v, n, t);                                                           \
    }
AGGI_TWINS(AGGI_COUNT_KERNEL, aggi_vec, aggi_wide)

static size_t aggi_count_below(int avx2, const double *v, size_t n, double t) {
    return AGGI_TWIN_OF_LANES(avx2, n, aggi_count)(v, n, t);
}

/* Sets of rows: one bit each, 64 to a word. */
#define AGGI_WORDS(n) (((n) + 63) / 64)

AGGI_INLINE int aggi_has(const uint64_t *set, size_t i) { return (int)(set[i / 64] >> i % 64 & 1); }

AGGI_INLINE void aggi_insert(uint64_t *set, size_t i) { set[i / 64] |= (uint64_t)1 << i % 64; }

AGGI_INLINE void aggi_remove(uint64_t *set, size_t i) { set[i / 64] &= ~((uint64_t)1 << i % 64); }

/* number of ones */
AGGI_INLINE size_t aggi_popcount(uint64_t u) {
    u -= u >> 1 & 0x5555555555555555u;
    u = (u & 0x3333333333333333u) + (u >> 2 & 0x3333333333333333u);
    return (size_t)(((u + (u >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* index of the lowest one; u != 0 */
#ifdef AGGI_GNU
AGGI_INLINE size_t aggi_lowest(uint64_t u) { return (size_t)__builtin_ctzll(u); }
#else
AGGI_INLINE size_t aggi_lowest(uint64_t u) { return aggi_popcount((u & (~u + 1)) - 1); }
#endif

/* ---- 3 the work of a call -------------------------------------------------------------------- */

/* What a kernel or rule returns when it met a sum that is not finite although nobody has looked for
   NaN and Inf in the rows yet: see aggi_aggregate(). */
#define AGGI_NOT_FINITE (-1)

/* What it returns when it needs a pass over rows that are not at hand: see aggi_stages_run(). All
   on the way back to agg_stages_decide() do nothing but return it. */
#define AGGI_PENDING (-2)

static const agg_real **aggi_take_rows(aggi_arena *a, size_t n) {
    return (const agg_real **)aggi_take(a, n, sizeof(const agg_real *));
}

/* sum_i weight_i row_i / total */
typedef struct aggi_blend {
    const agg_real *const *row;
    const double *weight;
    size_t n;
    double total;
} aggi_blend;

/* The same as base + share sum_i weight_i (row_i - base), or factor base where n is 0.
   share is 1 unless the weights are equal: those are 1. The first `light` weights are 2^AGGI_LIFT
   times as large: they would vanish in agg_real. */
typedef struct aggi_terms {
    const agg_real **row, *base;
    agg_real *weight, share;
    double factor;
    size_t n, light;
    size_t dim; /* numbers of a row */
} aggi_terms;

static void aggi_terms_layout(aggi_terms *t, aggi_arena *a, size_t n, size_t dim) {
    t->dim = dim;
    t->row = aggi_take_rows(a, n);
    t->weight = aggi_take_real(a, n);
}

/* Distances of all pairs of rows in play. */
typedef struct aggi_pairs {
    double *entry;       /* n x n: squared distances / unit^4, or roots of distances */
    int wide;            /* a squared distance does not fit a double, so there is a unit ... */
    int roots;           /* ... or, if they are too far apart for one, entry has roots */
    double unit;         /* a power of two: what roots of the entries are in; 1 unless wide */
    unsigned char *mark; /* n x n: how a pair was summed: see aggi_pair_doubt() */
    double *score;       /* n: Krum's */
    /* many rows: dot products of rows as seen from one of them */
    size_t center;
    int *size;      /* n: row i is taken 2^-size_i times as large, as seen from there */
    agg_real *pack; /* slices x n in threes x AGGI_PACKED: those rows, a block of coordinates */
    double *scale;  /* slices x n in threes: what they are in units of there, if it is not 1 */
} aggi_pairs;

static size_t aggi_threes(size_t n) { return (n + 2) / 3; }

/* dot products of all rows, each of threes: see aggi_gram_at() */
static size_t aggi_gram_sums(size_t n) { return 9 * aggi_threes(n) * (aggi_threes(n) + 1) / 2; }

static int aggi_has_gram(size_t n, size_t dim) { return n >= AGGI_GRAM && dim >= 64; }

static void aggi_pairs_layout(aggi_pairs *p, aggi_arena *a, const agg_desc *d, size_t slices) {
    const size_t n = d->n;
    p->entry = aggi_take_f64(a, n * n);
    p->mark = (unsigned char *)aggi_take(a, n * n, 1);
    p->score = aggi_take_f64(a, n);
    if (!aggi_has_gram(n, d->dim)) return;
    p->size = (int *)aggi_take(a, n, sizeof *p->size);
    p->pack = (agg_real *)aggi_take(a, slices * 3 * aggi_threes(n), AGGI_PACKED * sizeof *p->pack);
    p->scale = aggi_take_f64(a, slices * 3 * aggi_threes(n));
}

#define AGGI_LESSER  1u
#define AGGI_GREATER 2u

/* A comparison of the places low and high of a column; need: what is read of its result. */
typedef struct aggi_compare {
    uint32_t low, high, need;
} aggi_compare;

/* Columns being sorted, each slice with its own memory. */
typedef struct aggi_columns {
    size_t n;                  /* most rows */
    agg_real *block;           /* slices x n x AGGI_COLS */
    uint64_t *inside;          /* slices x n: in how many columns a row was inside the window */
    uint64_t *tally;           /* slices x n x AGGI_GROUP: see aggi_block */
    agg_real *rest;            /* n x AGGI_GROUP: the last columns, see aggi_place_block() */
    const agg_real **rest_row; /* n */
    aggi_compare *network;     /* comparisons that merge sorted runs of a column */
    uint32_t *read;            /* n: see aggi_prune() */
} aggi_columns;

/* comparisons of Batcher's network, at most: n t (t+1)/4 with t = ceil(log2 n) */
static size_t aggi_network_bound(size_t n) {
    size_t t = 0;
    while ((size_t)1 << t < n) t++;
    return n * t * (t + 1) / 4 + 1;
}

static void aggi_columns_layout(aggi_columns *g, aggi_arena *a, size_t n, size_t slices) {
    g->n = n;
    g->block = (agg_real *)aggi_take(a, slices * n, AGGI_COLS * sizeof *g->block);
    g->inside = (uint64_t *)aggi_take(a, slices * n, sizeof *g->inside);
    g->tally = (uint64_t *)aggi_take(a, slices * n, AGGI_GROUP * sizeof *g->tally);
    g->rest = aggi_take_real(a, n * AGGI_GROUP);
    g->rest_row = aggi_take_rows(a, n);
    g->network = (aggi_compare *)aggi_take(a, aggi_network_bound(n), sizeof *g->network);
    g->read = (uint32_t *)aggi_take(a, n, sizeof *g->read);
}

/* MDA's search for a vertex cover: f rows that touch all edges of a graph. Sets of rows are bits,
   `words` words each. */
typedef struct aggi_cover {
    size_t n, words, f;
    size_t nodes;
    uint64_t work, budget; /* steps, of a word or a row: so far, and how many there may be */
    uint64_t *edge;        /* n sets: the rows joined with row i */
    size_t *full_degree;   /* n: how many those are */
    /* where the search is */
    uint64_t *open;  /* set: rows not decided yet */
    uint64_t *cover; /* set: rows in the cover */
    size_t left;     /* how many more may go into it */
    size_t edges;    /* between open rows */
    size_t *degree;  /* n: open neighbours of an open row, else 0 */
    uint64_t *stack; /* (f + 2) x (2 words + 1): the branches taken, see aggi_push() */
    /* scratch of the bounds */
    size_t *tally;    /* n + 1: open rows of each degree */
    uint64_t *rest;   /* set: rows in no clique yet */
    uint64_t *common; /* set: rows joined with all of a clique */
    /* what MDA makes of it */
    double *radius;    /* n (n-1)/2 + 1: diameters to try */
    uint64_t *outside; /* set: rows that the best set found leaves out */
    uint64_t *taken;   /* set: rows known to be in the first such set */
    size_t *chosen;    /* n: the rows of a set as numbers */
} aggi_cover;

static uint64_t *aggi_take_set(aggi_arena *a, size_t words) {
    return (uint64_t *)aggi_take(a, words, sizeof(uint64_t));
}

static void aggi_cover_layout(aggi_cover *g, aggi_arena *a, size_t n, size_t f) {
    const size_t words = AGGI_WORDS(n);
    g->edge = aggi_take_set(a, n * words);
    g->full_degree = aggi_take_size(a, n);
    g->open = aggi_take_set(a, words);
    g->cover = aggi_take_set(a, words);
    g->degree = aggi_take_size(a, n);
    g->stack = aggi_take_set(a, (f + 2) * (2 * words + 1));
    g->tally = aggi_take_size(a, n + 1);
    g->rest = aggi_take_set(a, words);
    g->common = aggi_take_set(a, words);
    g->radius = aggi_take_f64(a, n * (n - 1) / 2 + 1);
    g->outside = aggi_take_set(a, words);
    g->taken = aggi_take_set(a, words);
    g->chosen = aggi_take_size(a, n);
}

/* GM: a point z = sum_i w_i x_i + w_n F/|F|; see section 9. */
typedef struct aggi_gm_point {
    double *w; /* n + 1; those of the rows sum to 1 */
    double *q; /* n: square w */
    double *d; /* n: distances of the rows from z */
} aggi_gm_point;

/* what a difference of rows is multiplied by, so that its squares fit a double */
typedef struct aggi_gm_scale {
    double before, after; /* the subtraction */
} aggi_gm_scale;

/* GM: near rows, far rows, and where the solver is. Distances are in units of the radius of the
   smallest ball of a majority. */
typedef struct aggi_gm {
    size_t n, all;        /* near rows, and all */
    size_t center;        /* the centre of that ball, among the near ones */
    size_t *row;          /* all: near rows, then far ones */
    double *away;         /* all: roots of their distances from the centre */
    int avx2;             /* see aggi_call */
    const double *square; /* n x n: squared distances of the near rows */
    double unit;          /* theirs: the radius, squared */
    double wanted;        /* excess to be proven */
    double root, size;    /* of the radius; the radius as the passes over the rows see it */
    double force;         /* |F|: with how much the far rows pull */
    double *along;        /* n: (x_i - c).F/|F| */
    aggi_gm_scale scale;  /* of near rows */
    aggi_gm_point at, to; /* the point, and one that is tried */
    double *inverse;      /* n + 1: 1/d; 0 for rows close to z, and for F */
    double *mend;         /* n: see aggi_gm_apply() */
    double *step;         /* n + 1: weights of a step, which sum to 0 */
    double *q_step;       /* n: square step */
    double *cg;           /* 8 (n + 1): vectors of the conjugate gradients */
    double *dot;          /* n + 1: the u_i.r */
    double *factor;       /* all: 1/distance as the passes see it */
} aggi_gm;

static void aggi_gm_point_layout(aggi_gm_point *p, aggi_arena *a, size_t n) {
    p->w = aggi_take_f64(a, n + 1);
    p->q = aggi_take_f64(a, n);
    p->d = aggi_take_f64(a, n);
}

static void aggi_gm_layout(aggi_gm *g, aggi_arena *a, size_t n) {
    g->row = aggi_take_size(a, n);
    g->away = aggi_take_f64(a, n);
    g->along = aggi_take_f64(a, n);
    aggi_gm_point_layout(&g->at, a, n);
    aggi_gm_point_layout(&g->to, a, n);
    g->inverse = aggi_take_f64(a, n + 1);
    g->mend = aggi_take_f64(a, n);
    g->step = aggi_take_f64(a, n + 1);
    g->q_step = aggi_take_f64(a, n);
    g->cg = aggi_take_f64(a, 8 * (n + 1));
    g->dot = aggi_take_f64(a, n + 1);
    g->factor = aggi_take_f64(a, n);
}

/* CAF and SMEA: the largest eigenvalue of the covariance of m weighted rows, by Lanczos. */
typedef struct aggi_spectrum {
    int avx2;
    size_t m;         /* rows in the matrix */
    double *square;   /* m x m: their squared distances */
    double *weight;   /* m */
    double *root;     /* m: of the weights */
    double total;     /* of the weights */
    double unit;      /* CAF: the entry of a pair that g->square is in units of */
    double trace;     /* of the covariance */
    double *vector;   /* m: the eigenvector */
    double value;     /* its eigenvalue, as a part of the trace */
    int settled;      /* they are as exact as they should be */
    double *along;    /* m: how far a row is off in that direction */
    double *lever;    /* m: scratch of a product */
    double *basis;    /* (AGGI_KRYLOV + 1) x m: orthonormal vectors */
    double *diagonal; /* AGGI_KRYLOV: of the tridiagonal matrix of a basis, */
    double *beside;   /* beside its diagonal, */
    double *pivot;    /* the pivots of its elimination */
    double *mixture;  /* and its eigenvector */
    uint64_t work;    /* operations so far */
    size_t *subset;   /* n: the rows in the matrix */
    size_t *best;     /* n: SMEA: the best subset so far */
} aggi_spectrum;

static void aggi_spectrum_layout(aggi_spectrum *g, aggi_arena *a, size_t n) {
    g->square = aggi_take_f64(a, n * n);
    g->weight = aggi_take_f64(a, n);
    g->root = aggi_take_f64(a, n);
    g->vector = aggi_take_f64(a, n);
    g->along = aggi_take_f64(a, n);
    g->lever = aggi_take_f64(a, n);
    g->basis = aggi_take_f64(a, (AGGI_KRYLOV + 1) * n);
    g->diagonal = aggi_take_f64(a, AGGI_KRYLOV);
    g->beside = aggi_take_f64(a, AGGI_KRYLOV);
    g->pivot = aggi_take_f64(a, AGGI_KRYLOV);
    g->mixture = aggi_take_f64(a, AGGI_KRYLOV);
    g->subset = aggi_take_size(a, n);
    g->best = aggi_take_size(a, n);
}

/* Rows that a kernel is to work on: those Bulyan picked; CClip's centre and all others. */
typedef struct aggi_picked {
    const agg_real **row; /* n + 1 */
    double *share;        /* n + 1 */
    int *taken;           /* n: Bulyan: row i was picked */
} aggi_picked;

static void aggi_picked_layout(aggi_picked *p, aggi_arena *a, size_t n) {
    p->row = aggi_take_rows(a, n + 1);
    p->share = aggi_take_f64(a, n + 1);
    p->taken = (int *)aggi_take(a, n, sizeof *p->taken);
}

/* Bulyan: the neighbours of each row in order, and the sum of the distances of those that count. */
typedef struct aggi_order {
    uint32_t *nearest; /* n x n: the others by distance from row i */
    uint32_t *last;    /* n: the place of the farthest that counts */
    double *sum;       /* n: of the squared distances of those, */
    double *rest;      /* n: what rounding took from it, */
    double *peak;      /* n: and what it was when it was added up */
    double *unit;      /* n: if the matrix has roots, the entry that they are in units of */
} aggi_order;

static void aggi_order_layout(aggi_order *o, aggi_arena *a, size_t n) {
    o->nearest = (uint32_t *)aggi_take(a, n * n, sizeof *o->nearest);
    o->last = (uint32_t *)aggi_take(a, n, sizeof *o->last);
    o->sum = aggi_take_f64(a, n);
    o->rest = aggi_take_f64(a, n);
    o->peak = aggi_take_f64(a, n);
    o->unit = aggi_take_f64(a, n);
}

/* DnC: some coordinates of all rows, as short rows. */
typedef struct aggi_excerpt {
    size_t m;             /* coordinates */
    size_t *place;        /* m: which, from the lowest up */
    agg_real *number;     /* n x m */
    const agg_real **row; /* n pointers into it */
    double *kept;         /* n: how often a row was kept */
} aggi_excerpt;

/* so many coordinates are a share of all: at least one */
static size_t aggi_share_of(const agg_desc *d, double fallback) {
    const double share = d->share > 0 ? d->share : fallback;
    const size_t m = (size_t)(share * (double)d->dim);
    return m < 1 ? 1 : m < d->dim ? m : d->dim;
}

static void aggi_excerpt_layout(aggi_excerpt *g, aggi_arena *a, const agg_desc *d) {
    g->m = aggi_share_of(d, 0.2);
    g->place = aggi_take_size(a, g->m);
    g->number = (agg_real *)aggi_take(a, g->m, d->n * sizeof *g->number);
    g->row = aggi_take_rows(a, d->n);
    g->kept = aggi_take_f64(a, d->n);
}

/* GAS: the coordinates in blocks. */
typedef struct aggi_deal {
    size_t blocks;
    uint32_t *block; /* dim: of a coordinate */
    double *sum;     /* slices x blocks: squares of one row */
} aggi_deal;

static size_t aggi_blocks(const agg_desc *d) {
    const size_t want = d->blocks ? d->blocks : 1000, most = (uint32_t)-1;
    return want < d->dim ? want : d->dim < most ? d->dim : most;
}

static void aggi_deal_layout(aggi_deal *g, aggi_arena *a, const agg_desc *d, size_t slices) {
    g->blocks = aggi_blocks(d);
    g->block = (uint32_t *)aggi_take(a, d->dim, sizeof *g->block);
    g->sum = (double *)aggi_take(a, g->blocks, slices * sizeof *g->sum);
}

/* SignGuard: rows by the signs of some of their numbers. */
typedef struct aggi_signs {
    double *feature; /* n x 3: how many are above, at and below 0, in units of the largest */
    double *reach;   /* n: radius of the smallest ball of a majority around it */
    double *root;    /* n: of the norms */
} aggi_signs;

static void aggi_signs_layout(aggi_signs *g, aggi_arena *a, size_t n) {
    g->feature = aggi_take_f64(a, 3 * n);
    g->reach = aggi_take_f64(a, n);
    g->root = aggi_take_f64(a, n);
}

/* A pre-aggregation: new row j is factor_j times the sum of some rows. */
typedef struct aggi_mix {
    size_t n_in, n_out;
    uint64_t *member;     /* n_out sets of rows */
    double *factor;       /* n_out */
    int *kept;            /* n_out: new row j is old row j */
    agg_real *row;        /* n_out x stride */
    const agg_real *base; /* NNM: a row in the middle of the others */
    int many;             /* a new row is made of many */
    int ready;            /* it is known what the new rows are made of */
} aggi_mix;

static void aggi_mix_layout(aggi_mix *m, aggi_arena *a, size_t n, size_t stride) {
    m->member = aggi_take_set(a, n * AGGI_WORDS(n));
    m->factor = aggi_take_f64(a, n);
    m->kept = (int *)aggi_take(a, n, sizeof *m->kept);
    m->row = (agg_real *)aggi_take(a, stride, n * sizeof *m->row);
}

/* Mixing many rows into many: see aggi_mix_run(). Each slice has its own strip, sum and table. */
typedef struct aggi_mixer {
    size_t stride;         /* of the strips: AGGI_STRIP, or less if the rows are shorter */
    size_t tables;         /* AGGI_TABLES, or less if there are fewer groups */
    size_t groups, tiles;  /* of AGGI_FOUR rows, of AGGI_FOUR new rows */
    const agg_real *base;  /* a row in the middle of the others */
    unsigned char *offset; /* groups x tiles x AGGI_FOUR: places in the table */
    agg_real *strip;       /* groups x AGGI_FOUR x stride: coordinates of the rows, minus base */
    agg_real *sum;         /* tiles x AGGI_FOUR x stride */
    agg_real *table;       /* tables x 16 x AGGI_LINE */
} aggi_mixer;

static size_t aggi_fours(size_t n) { return (n + AGGI_FOUR - 1) / AGGI_FOUR; }

static void aggi_mixer_layout(aggi_mixer *g, aggi_arena *a, size_t n, size_t dim, size_t slices) {
    const size_t fours = aggi_fours(n), lines = dim / AGGI_LINE + (dim % AGGI_LINE != 0);
    g->tables = fours < AGGI_TABLES ? fours : AGGI_TABLES;
    g->stride = lines < AGGI_STRIP / AGGI_LINE ? lines * AGGI_LINE : AGGI_STRIP;
    g->offset = (unsigned char *)aggi_take(a, fours * fours, AGGI_FOUR);
    g->strip = (agg_real *)aggi_take(a, slices * fours, AGGI_FOUR * g->stride * sizeof *g->strip);
    g->sum = (agg_real *)aggi_take(a, slices * fours, AGGI_FOUR * g->stride * sizeof *g->sum);
    g->table = (agg_real *)aggi_take(a, slices * g->tables, 16 * AGGI_LINE * sizeof *g->table);
}

/* The caller's rows that are there: not NULL and, once they were scanned, finite. */
typedef struct aggi_senders {
    const agg_real **row;
    size_t *id; /* their places in the caller's array */
    size_t n;
} aggi_senders;

/* Stages: the numbers at hand are `width` of slice s, the first of them or those that go on. */
typedef struct aggi_at_hand {
    agg_stages *stages; /* NULL: all rows are at hand */
    int inside;         /* jobs run, on this slice alone; else they are only noted down */
    size_t slice, width;
    int goes_on;
} aggi_at_hand;

/* A call: what it was asked, the rows in play, the result, and the memory of each family. */
typedef struct aggi_call {
    const agg_desc *desc;
    agg_report report;
    size_t dim, slices;  /* numbers of a row, and the parts they are cut into, one for each job */
    size_t stride;       /* numbers of a row at hand, at most: dim, or a window's */
    aggi_at_hand window; /* where that is, if the call is made in stages */
    int avx2;
    int suspect;   /* some row is not finite: see aggi_aggregate() */
    int scanned;   /* every row was looked at for NaN and Inf: see there */
    size_t *clean; /* slices: up to here all rows sent are known to be finite: see aggi_scan() */
    int *status;   /* slices: what a job has to say */
    aggi_senders sent;
    const agg_real **x; /* n: the rows in play: those sent, or what pre-aggregations made of them */
    size_t n, f;        /* how many, and how many adversaries may be among them */
    size_t pivot;       /* desc.pivot's row among them; n: it is not there */
    double *weight;     /* n: result of a rule that mixes rows: sum_i weight_i x_i / total */
    double total;
    agg_real *out;       /* dim: the result until it is sure to be one */
    double *key;         /* n: what rows are ranked by */
    unsigned char *kind; /* n: how the squares of a row are formed: see aggi_roots_from() */
    aggi_item *item;     /* 2 n: the ranking */
    double *part;        /* slices x the sums of a kernel */
    aggi_terms terms;
    aggi_pairs pairs;
    aggi_columns columns;
    aggi_cover cover;
    aggi_gm gm;
    aggi_spectrum spectrum;
    aggi_picked picked;
    aggi_order order;
    aggi_excerpt excerpt;
    aggi_deal deal;
    aggi_signs signs;
    aggi_mixer mixer;
    aggi_mix mix[2];
} aggi_call;

/* what every call needs; sums: the most that a kernel makes */
static void aggi_call_layout(aggi_call *c, aggi_arena *a, size_t sums) {
    const size_t n = c->desc->n;
    c->sent.row = aggi_take_rows(a, n);
    c->sent.id = aggi_take_size(a, n);
    c->x = aggi_take_rows(a, n);
    c->weight = aggi_take_f64(a, n);
    c->out = aggi_take_real(a, c->stride);
    c->key = aggi_take_f64(a, n);
    c->item = (aggi_item *)aggi_take(a, n, 2 * sizeof *c->item);
    c->part = aggi_take_f64(a, c->slices * sums);
    aggi_terms_layout(&c->terms, a, n + 1, c->stride);
    c->clean = aggi_take_size(a, c->slices);
    c->status = (int *)aggi_take(a, c->slices, sizeof *c->status);
    c->kind = (unsigned char *)aggi_take(a, n, 1);
}

/* options and their defaults */
static size_t aggi_or(size_t value, size_t fallback) { return value ? value : fallback; }

static size_t aggi_bucket(const agg_desc *d) { return aggi_or(d->bucket, 2); }

/* Operations that a search may take; one is a multiply-add of a loop that runs as vector code. By
   default a part of what the distances take, but enough for small n and for CAF as a rule. */
static uint64_t aggi_budget(const agg_desc *d) {
    const uint64_t each = 2048 + (uint64_t)d->dim / 8, most = (uint64_t)1 << 62;
    const uint64_t pairs = (uint64_t)d->n * d->n, all = pairs > most / each ? most : pairs * each;
    return d->budget ? d->budget : ((uint64_t)1 << 26) + all;
}

static double aggi_gap(const agg_desc *d) { return d->gap > 0 ? d->gap < 1 ? d->gap : 1 : 1e-6; }

/* less is lost in rounding */
static double aggi_gap_sought(const agg_desc *d) { return aggi_max(aggi_gap(d), 1e-14); }

/* A job for every slice of the coordinates. It reads the rows of its slice, writes c->out there,
   leaves its sums at left + s * bytes and what it has to say in c->status[s]. */
typedef struct aggi_task {
    agg_job *job;
    void *arg;
    size_t arg_size; /* 0: it is the call itself */
    void *left;
    size_t bytes;
    int added; /* left is of doubles, which are summed over the slices */
} aggi_task;

static int aggi_stages_run(const aggi_call *c, const aggi_task *t);

/* left[0 .. count-1] = the sums over the slices, in order */
static void aggi_sum_slices(double *left, size_t slices, size_t count) {
    size_t s, i;
    for (s = 1; s < slices; s++)
        for (i = 0; i < count; i++) left[i] += left[s * count + i];
}

static void aggi_run_here(const aggi_call *c, const aggi_task *t) {
    size_t s;
    if (c->desc->jobs.run && c->slices > 1) {
        c->desc->jobs.run(c->desc->jobs.self, c->slices, t->job, t->arg);
        return;
    }
    for (s = 0; s < c->slices; s++) t->job(t->arg, s);
}

/* AGG_OK: it is done. AGGI_PENDING: the rows are not at hand. */
static int aggi_run_task(const aggi_call *c, const aggi_task *t) {
    if (c->window.stages && !c->window.inside) return aggi_stages_run(c, t);
    memset(c->status, 0, c->slices * sizeof *c->status);
    if (c->window.inside)
        t->job(t->arg, c->window.slice);
    else
        aggi_run_here(c, t);
    if (t->added) aggi_sum_slices((double *)t->left, c->slices, t->bytes / sizeof(double));
    return AGG_OK;
}

/* arg_size: of what arg points to; 0 for the call itself */
static int aggi_run_leaving(const aggi_call *c, agg_job *job, void *arg, size_t arg_size,
                            void *left, size_t bytes) {
    aggi_task t;
    t.job = job;
    t.arg = arg;
    t.arg_size = arg_size;
    t.left = left;
    t.bytes = bytes;
    t.added = 0;
    return aggi_run_task(c, &t);
}

/* a job that leaves nothing but c->out */
static int aggi_run(const aggi_call *c, agg_job *job, void *arg, size_t arg_size) {
    return aggi_run_leaving(c, job, arg, arg_size, c->part, 0);
}

/* A job that leaves `count` sums at c->part + s * count: adds the slices up, into c->part[0 ..
   count-1]. */
static int aggi_add_slices(const aggi_call *c, agg_job *job, void *arg, size_t arg_size,
                           size_t count) {
    aggi_task t;
    t.job = job;
    t.arg = arg;
    t.arg_size = arg_size;
    t.left = c->part;
    t.bytes = count * sizeof *c->part;
    t.added = 1;
    return aggi_run_task(c, &t);
}

/* sums of a slice begin at 0, unless the window goes on with it */
static void aggi_begin_sums(const aggi_call *c, double *sum, size_t count) {
    if (!c->window.goes_on) memset(sum, 0, count * sizeof *sum);
}

/* the first status of a slice that is not AGG_OK */
static int aggi_any(const aggi_call *c) {
    size_t s;
    for (s = 0; s < c->slices; s++)
        if (c->status[s]) return c->status[s];
    return AGG_OK;
}

/* The slices depend on n and dim alone, so that the bits of a sum do not depend on threads. */
static size_t aggi_slices(size_t n, size_t dim) {
    const size_t most = n > 256 ? 4 : AGGI_SLICES, want = dim / AGGI_CHUNK;
    return want < 1 ? 1 : want > most ? most : want;
}

/* whole chunks, the last slice takes the rest */
static size_t aggi_slice_of(size_t dim, size_t slices, size_t s) {
    const size_t chunks = dim / AGGI_CHUNK, each = chunks / slices, more = chunks % slices;
    return s == slices ? dim : (s * each + (s < more ? s : more)) * AGGI_CHUNK;
}

/* first coordinate of slice s, or of the window in it: there the numbers at hand are all there
   are */
static size_t aggi_slice_begin(const aggi_call *c, size_t s) {
    if (c->window.inside) return s == c->window.slice ? 0 : c->window.width;
    return aggi_slice_of(c->dim, c->slices, s);
}

/* how far rows may be read */
static size_t aggi_end(const aggi_call *c) { return c->window.inside ? c->window.width : c->dim; }

static size_t aggi_width(size_t at, size_t end, size_t most) {
    return end - at < most ? end - at : most;
}

/* ---- 4 distances ----------------------------------------------------------------------------- */

/* ||a - b||^2 of all pairs is a sum over coordinates, 8 lanes of them: lane l has the coordinates
   that are l modulo 8, AGGI_BLOCK of them summed in `real`, then on in double. Where squares of the
   differences could leave the range of `real`, the pair is done again zoomed: rows shrunk before
   they are subtracted, or differences grown before they are squared, by a power of two. */
#define AGGI_FAIR   0u
#define AGGI_SHRUNK 1u
#define AGGI_GROWN  2u

typedef struct aggi_zoom {
    double shrink, grow; /* factors of rows and of differences */
    int exponent;        /* true sum = 2^exponent x the sum so made */
} aggi_zoom;

/* Shrunk: the largest difference gets a square of 2^98 (2^850), one that made a sum of squares
   larger than AGGI_HUGE still one of 2^-36 (2^-310). Grown: the least difference there is gets a
   square of 2^-98 (2^-948), one whose square is below AGGI_TINY at most 2^120 (2^270). */
static aggi_zoom aggi_zoom_make(unsigned kind) {
    const int shrink = sizeof(agg_real) > 4 ? 600 : 80, grow = sizeof(agg_real) > 4 ? 600 : 100;
    aggi_zoom z;
    z.shrink = kind == AGGI_SHRUNK ? aggi_pow2(-shrink) : 1;
    z.grow = kind == AGGI_GROWN ? aggi_pow2(grow) : 1;
    z.exponent = kind == AGGI_SHRUNK ? 2 * shrink : kind == AGGI_GROWN ? -2 * grow : 0;
    return z;
}

/* How is a sum of squares to be made that came out as `sum`? Squares of floats are safe in
   double. */
static unsigned aggi_zoom_for(double sum, int exact) {
    if (!aggi_finite(sum)) return AGGI_SHRUNK;
    if (exact && sizeof(agg_real) < sizeof sum) return AGGI_FAIR;
    return sum < AGGI_TINY ? AGGI_GROWN : sum > AGGI_HUGE ? AGGI_SHRUNK : AGGI_FAIR;
}

/* One row and up to AGGI_STAR others whose distances from it are summed together. */
#define AGGI_STAR 6

typedef struct aggi_star {
    const agg_real *from, *to[AGGI_STAR];
    size_t m;
    aggi_zoom zoom;
} aggi_star;

/* sum[8 p + l] += lane l of the pair (from, to[p]) over coordinates [at, at + width), width being a
   multiple of 8. `from` stays in a register; the width of vec changes the speed, not the bits. */

/* clang-format off */

#define AGGI_EACH1(X, a, b, c) X(0, a, b, c)
#define AGGI_EACH2(X, a, b, c) AGGI_EACH1(X, a, b, c) X(1, a, b, c)
#define AGGI_EACH3(X, a, b, c) AGGI_EACH2(X, a, b, c) X(2, a, b, c)
#define AGGI_EACH4(X, a, b, c) AGGI_EACH3(X, a, b, c) X(3, a, b, c)
#define AGGI_EACH5(X, a, b, c) AGGI_EACH4(X, a, b, c) X(4, a, b, c)
#define AGGI_EACH6(X, a, b, c) AGGI_EACH5(X, a, b, c) X(5, a, b, c)

#define AGGI_PLAIN_GAP(u, w)  ((u) - (w))
#define AGGI_ZOOMED_GAP(u, w) (((u) * shrink - (w) * shrink) * grow)

#define AGGI_STAR_ZERO(p, vec, load, gap)  vec s##p = {0};
#define AGGI_STAR_STEP(p, vec, load, gap)  load(vec, w, t->to[p] + k); w = gap(u, w); s##p += w * w;
#define AGGI_STAR_STORE(p, vec, load, gap) AGGI_STORE(lane + p * AGGI_LANES + first, s##p);

#define AGGI_STAR_KERNEL(name, attribute, EACH, m, real, vec, load, gap)                           \
    attribute static void name(const aggi_star *t, size_t at, size_t width,                        \
                               double *AGGI_RESTRICT sum) {                                        \
        const real shrink = (real)t->zoom.shrink, grow = (real)t->zoom.grow;                       \
        const size_t end = at + width;                                                             \
        real lane[m * AGGI_LANES];                                                                 \
        size_t stop, first, k, p;                                                                  \
        (void)shrink;                                                                              \
        (void)grow;                                                                                \
        for (; at < end; at = stop) {                                                              \
            stop = at + aggi_width(at, end, AGGI_BLOCK);                                           \
            for (first = 0; first < AGGI_LANES; first += sizeof(vec) / sizeof(real)) {             \
                EACH(AGGI_STAR_ZERO, vec, load, gap)                                               \
                for (k = at + first; k < stop; k += AGGI_LANES) {                                  \
                    vec u, w;                                                                      \
                    load(vec, u, t->from + k);                                                     \
                    EACH(AGGI_STAR_STEP, vec, load, gap)                                           \
                }                                                                                  \
                EACH(AGGI_STAR_STORE, vec, load, gap)                                              \
            }                                                                                      \
            for (p = 0; p < m * AGGI_LANES; p++) sum[p] += (double)lane[p];                        \
        }                                                                                          \
    }

#define AGGI_STARS(name, suffix, attribute, real, vec, load, gap)                                  \
    AGGI_STAR_KERNEL(name##1##suffix, attribute, AGGI_EACH1, 1, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##2##suffix, attribute, AGGI_EACH2, 2, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##3##suffix, attribute, AGGI_EACH3, 3, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##4##suffix, attribute, AGGI_EACH4, 4, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##5##suffix, attribute, AGGI_EACH5, 5, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##6##suffix, attribute, AGGI_EACH6, 6, real, vec, load, gap)              \
    attribute static void name##suffix(const aggi_star *t, size_t at, size_t width, double *sum) { \
        switch (t->m) {                                                                            \
        case 1: name##1##suffix(t, at, width, sum); break;                                         \
        case 2: name##2##suffix(t, at, width, sum); break;                                         \
        case 3: name##3##suffix(t, at, width, sum); break;                                         \
        case 4: name##4##suffix(t, at, width, sum); break;                                         \
        case 5: name##5##suffix(t, at, width, sum); break;                                         \
        default: name##6##suffix(t, at, width, sum);                                               \
        }                                                                                          \
    }

#define AGGI_LOAD_REALS(vec, v, from) AGGI_LOAD(v, from)
#define AGGI_REAL_STARS(suffix, attribute, vec)                                                    \
    AGGI_STARS(aggi_star, suffix, attribute, agg_real, vec, AGGI_LOAD_REALS, AGGI_PLAIN_GAP)       \
    AGGI_STARS(aggi_zoom_star, suffix, attribute, agg_real, vec, AGGI_LOAD_REALS, AGGI_ZOOMED_GAP)
#ifdef __AVX__ /* never wider than the lanes */
  AGGI_TWINS(AGGI_REAL_STARS, aggi_wide, aggi_wide)
#else
  AGGI_TWINS(AGGI_REAL_STARS, aggi_vec, aggi_wide)
#endif

/* The same with differences and squares in double, for GM: the angles between rows that are far
   away need more than float's distances. Vectors of doubles are loaded by way of a _narrow type. */
#ifdef AGG_DOUBLE
  #define AGGI_EXACT_STAR(avx2) AGGI_TWIN(avx2, aggi_star)
#else
  #define AGGI_EXACT_STAR(avx2) AGGI_TWIN(avx2, aggi_exact_star)
  #ifdef AGGI_CONVERT
    typedef float  aggi_double2_narrow AGGI_VECTOR(8);
    typedef double aggi_double2 AGGI_VECTOR(16);
    typedef float  aggi_double4_narrow AGGI_VECTOR(16);
    typedef double aggi_double4 AGGI_VECTOR(32);
    #define AGGI_LOAD_DOUBLES(vec, v, from)                                                        \
        do {                                                                                       \
            vec##_narrow narrow_;                                                                  \
            AGGI_LOAD(narrow_, from);                                                              \
            v = AGGI_CONVERT(narrow_, vec);                                                        \
        } while (0)
  #else
    typedef double aggi_double2, aggi_double4;
    #define AGGI_LOAD_DOUBLES(vec, v, from) v = (vec)*(from)
  #endif
  #define AGGI_DOUBLE_STARS(suffix, attribute, vec)                                                \
      AGGI_STARS(aggi_exact_star, suffix, attribute, double, vec, AGGI_LOAD_DOUBLES, AGGI_PLAIN_GAP)
  #ifdef __AVX__
    AGGI_TWINS(AGGI_DOUBLE_STARS, aggi_double4, aggi_double4)
  #else
    AGGI_TWINS(AGGI_DOUBLE_STARS, aggi_double2, aggi_double4)
  #endif
#endif

/* clang-format on */

/* A run over pairs: `count` sums at c->part + s * count. */
typedef struct aggi_pairs_job {
    const aggi_call *c;
    size_t count;
    int exact; /* differences in double */
} aggi_pairs_job;

static void aggi_star_lanes(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                            double *sum) {
    if (t->zoom.exponent)
        AGGI_TWIN(job->c->avx2, aggi_zoom_star)(t, at, width, sum);
    else if (job->exact)
        AGGI_EXACT_STAR(job->c->avx2)(t, at, width, sum);
    else
        AGGI_TWIN(job->c->avx2, aggi_star)(t, at, width, sum);
}

/* the last coordinates, fewer than 8, as 8 with zeros behind them */
static void aggi_star_rest(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                           double *sum) {
    agg_real pad[1 + AGGI_STAR][AGGI_LANES] = {{0}};
    aggi_star padded = *t;
    size_t p;
    memcpy(pad[AGGI_STAR], t->from + at, width * sizeof(agg_real));
    padded.from = pad[AGGI_STAR];
    for (p = 0; p < t->m; p++) {
        memcpy(pad[p], t->to[p] + at, width * sizeof(agg_real));
        padded.to[p] = pad[p];
    }
    aggi_star_lanes(job, &padded, 0, AGGI_LANES, sum);
}

/* part[p] += the squared distance of the pair (from, to[p]) over coordinates [at, at + width) */
static void aggi_star_add(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                          double *part) {
    const size_t whole = width / AGGI_LANES * AGGI_LANES;
    double sum[AGGI_STAR * AGGI_LANES] = {0};
    size_t p;
    aggi_star_lanes(job, t, at, whole, sum);
    if (whole < width) aggi_star_rest(job, t, at + whole, width - whole, sum);
    for (p = 0; p < t->m; p++) part[p] += aggi_sum8(sum + p * AGGI_LANES);
}

/* part += the squared distances of all pairs over coordinates [at, at + width). A row's others go
   in stars of nearly the same size. */
static void aggi_pairs_chunk(const aggi_pairs_job *job, size_t at, size_t width, double *part) {
    const size_t n = job->c->n;
    aggi_star t;
    size_t i, j, stars;
    t.zoom = aggi_zoom_make(AGGI_FAIR);
    for (i = 0; i < n; i++) {
        t.from = job->c->x[i];
        for (j = i + 1; j < n; j += t.m) {
            stars = (n - j + AGGI_STAR - 1) / AGGI_STAR;
            t.m = (n - j + stars - 1) / stars;
            memcpy(t.to, job->c->x + j, t.m * sizeof *t.to);
            aggi_star_add(job, &t, at, width, part);
            part += t.m;
        }
    }
}

static void aggi_pairs_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *part = c->part + s * job->count;
    size_t at, width;
    aggi_begin_sums(c, part, job->count);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_NARROW);
        aggi_pairs_chunk(job, at, width, part);
    }
}

/* Pairs that are done again have a mark, their zoom and one of these. */
#define AGGI_NOW   4u  /* in this run */
#define AGGI_NEXT  8u  /* in the next */
#define AGGI_LATER 16u /* after these, if need be */

/* the next of row i's pairs, from j on, that has the mark; n: there is none */
static size_t aggi_next_marked(const aggi_call *c, size_t i, size_t j, unsigned mark) {
    const unsigned char *row = c->pairs.mark + i * c->n;
    while (j < c->n && row[j] != mark) j++;
    return j;
}

/* part += the squared distances of row i's pairs with this mark; returns the end of them */
static double *aggi_again_row(const aggi_pairs_job *job, size_t i, unsigned mark, size_t at,
                              size_t width, double *part) {
    const aggi_call *c = job->c;
    size_t j = aggi_next_marked(c, i, i + 1, mark);
    aggi_star t;
    t.from = c->x[i];
    t.zoom = aggi_zoom_make(mark - AGGI_NOW);
    for (; j < c->n; part += t.m) {
        for (t.m = 0; t.m < AGGI_STAR && j < c->n; j = aggi_next_marked(c, i, j + 1, mark))
            t.to[t.m++] = c->x[j];
        aggi_star_add(job, &t, at, width, part);
    }
    return part;
}

static void aggi_again_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *part = c->part + s * job->count;
    size_t at, width, i;
    aggi_begin_sums(c, part, job->count);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        double *to = part;
        width = aggi_width(at, end, c->n < AGGI_GRAM ? AGGI_NARROW : AGGI_CHUNK);
        for (i = 0; i < c->n; i++) {
            unsigned kind;
            for (kind = AGGI_FAIR; kind <= AGGI_GROWN; kind++)
                to = aggi_again_row(job, i, AGGI_NOW | kind, at, width, to);
        }
    }
}

/* How is a sum to be made that came out so when it was made as `kind`? The same: it is good. */
static unsigned aggi_zoom_next(double sum, unsigned kind, int exact) {
    if (kind == AGGI_FAIR) return aggi_zoom_for(sum, exact);
    if (kind == AGGI_SHRUNK) return sum < AGGI_TINY ? (unsigned)AGGI_FAIR : kind;
    return aggi_finite(sum) && sum <= AGGI_HUGE ? kind : (unsigned)AGGI_FAIR;
}

/* Enters the sums of a run. One that is not finite although rows were shrunk convicts a row. */
static int aggi_again_enter(aggi_call *c, int exact) {
    const double *sum = c->part;
    size_t i, j;
    unsigned kind;
    for (i = 0; i < c->n; i++) {
        for (kind = AGGI_FAIR; kind <= AGGI_GROWN; kind++) {
            for (j = i; (j = aggi_next_marked(c, i, j + 1, AGGI_NOW | kind)) < c->n; sum++) {
                const unsigned next = aggi_zoom_next(*sum, kind, exact);
                if (kind == AGGI_SHRUNK && !aggi_finite(*sum)) return AGGI_NOT_FINITE;
                c->pairs.entry[i * c->n + j] = *sum;
                c->pairs.mark[i * c->n + j] =
                    (unsigned char)(next == kind ? kind : AGGI_NEXT | next);
            }
        }
    }
    return AGG_OK;
}

/* AGGI_NEXT is AGGI_NOW from here on; returns how many pairs that is */
static size_t aggi_again_count(aggi_call *c) {
    unsigned char *mark = c->pairs.mark;
    size_t k, now = 0;
    for (k = 0; k < c->n * c->n; k++) {
        if (mark[k] & AGGI_NEXT) mark[k] = (unsigned char)(mark[k] % AGGI_NOW | AGGI_NOW);
        now += (mark[k] & AGGI_NOW) != 0;
    }
    return now;
}

/* All pairs marked AGGI_NOW; those then in doubt as they need it. */
static int aggi_pairs_again(aggi_call *c, int exact) {
    aggi_pairs_job job;
    int run, status;
    job.c = c;
    job.exact = exact;
    for (run = 0; run < 3; run++) {
        job.count = aggi_again_count(c);
        if (!job.count) break;
        status = aggi_add_slices(c, aggi_again_run, &job, sizeof job, job.count);
        if (status == AGG_OK) status = aggi_again_enter(c, exact);
        if (status) return status;
    }
    return AGG_OK;
}

/* Pair i < j is to be done again: now if it is row j's first, else later. The first ones are enough
   to convict a row with a NaN or Inf (by its pair with row 0, or all pairs of row 0), and to find
   which rows are equal. Pairs come in the order of i; the lower half of the marks remembers. */
static void aggi_pair_doubt(aggi_call *c, size_t i, size_t j, unsigned kind) {
    unsigned char *first = c->pairs.mark + j * c->n;
    c->pairs.mark[i * c->n + j] = (unsigned char)(kind | (*first ? AGGI_LATER : AGGI_NOW));
    *first = 1;
}

/* Enters the sums of all pairs into the upper half of the matrix. */
static size_t aggi_pairs_enter(aggi_call *c, int exact) {
    const size_t n = c->n;
    const double *sum = c->part;
    size_t i, j, doubts = 0;
    memset(c->pairs.mark, 0, n * n);
    for (i = 0; i < n; i++) {
        for (j = i + 1; j < n; j++, sum++) {
            const unsigned kind = aggi_zoom_for(*sum, exact);
            c->pairs.entry[i * n + j] = *sum;
            if (kind == AGGI_FAIR) continue;
            aggi_pair_doubt(c, i, j, kind);
            doubts++;
        }
    }
    return doubts;
}

/* Rows i < j are equal if both are equal to the same row before them. */
static int aggi_rows_equal(const aggi_call *c, size_t i, size_t j) {
    const unsigned char *mark = c->pairs.mark;
    const double *entry = c->pairs.entry;
    const size_t n = c->n;
    size_t r;
    for (r = 0; r < i && !mark[r * n + j]; r++) continue;
    return r < i && mark[r * n + j] == AGGI_GROWN && mark[r * n + i] == AGGI_GROWN &&
           !(entry[r * n + j] > 0) && !(entry[r * n + i] > 0);
}

/* What was left for later comes now, but for rows known to be equal. */
static void aggi_pairs_rest(aggi_call *c) {
    const size_t n = c->n;
    size_t i, j;
    for (j = 1; j < n; j++) {
        if (!c->pairs.mark[j * n]) continue;
        for (i = 0; i < j; i++) {
            unsigned char *mark = c->pairs.mark + i * n + j;
            if (!(*mark & AGGI_LATER)) continue;
            if (!aggi_rows_equal(c, i, j)) {
                *mark = (unsigned char)(*mark % AGGI_NOW | AGGI_NOW);
                continue;
            }
            c->pairs.entry[i * n + j] = 0;
            *mark = AGGI_GROWN;
        }
    }
}

/* c->item = all rows by distance from row i, itself first */
static void aggi_by_distance(aggi_call *c, size_t i) {
    aggi_rank(c->item, c->pairs.entry + i * c->n, c->n, i);
}

/* The row whose ball of `count` rows, itself included, is smallest: every set of that many rows has
   at least this radius as diameter, and the ball at most twice as much. Leaves the ball in item[0
   .. count-1]. */
static size_t aggi_best_ball(aggi_call *c, size_t count, double *radius) {
    size_t i, best = 0;
    *radius = aggi_infinity();
    for (i = 0; i < c->n; i++) {
        if (aggi_count_below(c->avx2, c->pairs.entry + i * c->n, c->n, *radius) < count)
            continue; /* no smaller ball here: spare the sort */
        aggi_by_distance(c, i);
        *radius = c->item[count - 1].key;
        best = i;
    }
    aggi_by_distance(c, best);
    return best;
}

/* The numbers of all rows that come next, asked for a few at a time while those at hand are worked
   on. Rows are read in pieces so short that the machine does not see what is coming. */
typedef struct aggi_ahead {
    const agg_real *const *x;
    size_t at, width; /* coordinates; width 0: there are none */
    size_t row, k;    /* the next to be asked for */
    size_t n;
} aggi_ahead;

static aggi_ahead aggi_ahead_make(const aggi_call *c, size_t at, size_t most) {
    aggi_ahead h;
    h.x = c->x;
    h.at = at;
    h.width = aggi_width(at, aggi_end(c), most);
    h.row = h.k = 0;
    h.n = h.width ? c->n : 0;
    return h;
}

AGGI_INLINE void aggi_ask(aggi_ahead *h, size_t lines) {
    for (; lines && h->row < h->n; lines--) {
        AGGI_PREFETCH(h->x[h->row] + h->at + h->k);
        h->k += 64 / sizeof(agg_real);
        if (h->k < h->width) continue;
        h->k = 0;
        h->row++;
    }
}

/* Many rows. With a_i = x_i - x_o, seen from a row o among the others, ||x_i - x_j||^2 = a_i.a_i +
   a_j.a_j - 2 a_i.a_j, and a dot product takes half the time of a distance: n^2/2 multiplications
   and additions a coordinate. Rows that are larger or smaller than usual are taken 2^-size times as
   large. Lanes as above, but AGGI_PACKED coordinates of a block, which are packed first.
   The error: with u = 2^-24 (2^-53) a product of 64 terms a lane, two more additions and the
   rounding of a are off by at most 68 u sum |a_i a_j|, so the squared distance is by at most
   140 u (||a_i||^2 + ||a_j||^2). Where that is more than AGGI_DOUBT of it, it is done again as
   above: rows close together and far away from row o. */
#define AGGI_DOUBT      (sizeof(agg_real) > 4 ? 1.0 / 68719476736.0 : 1.0 / 8192) /* 2^-36, 2^-13 */
#define AGGI_GRAM_ERROR (140 * AGGI_REAL_ULP)

/* clang-format off */

/* A number of 2^AGGI_LARGE or more, or one that is not finite, has an exponent that carries into
   the sign when this is added. */
#define AGGI_REAL_SIGN (~(~(aggi_word)0 >> 1))
#define AGGI_CARRY                                                                                 \
    (AGGI_REAL_SIGN - (AGGI_REAL_INF / AGGI_REAL_UNIT / 2 + AGGI_LARGE) * AGGI_REAL_UNIT)

/* v into a register: compilers like to load a row once for each of its uses */
#ifdef AGGI_X86
  #define AGGI_KEEP(v) __asm__("" : "+x"(v))
#else
  #define AGGI_KEEP(v) ((void)0)
#endif

/* one row against three */
#define AGGI_DOT3(from, s, t, r)                                                                   \
    AGGI_LOAD(w, from);                                                                            \
    AGGI_KEEP(w);                                                                                  \
    s += w * x;                                                                                    \
    t += w * y;                                                                                    \
    r += w * z;

/* part[3 p + q] += a_p.b_q for three rows each, AGGI_PACKED apart; and for all threes of rows j <=
   i, twelve of j at a time, so that they stay in the nearest cache. unit: of the rows, if not 1 */
#define AGGI_GRAM_KERNEL(suffix, attribute, vec)                                                   \
    attribute static void aggi_dots##suffix(const agg_real *a, const agg_real *b, size_t width,    \
                                            double *part) {                                        \
        agg_real lane[9 * AGGI_LANES];                                                             \
        size_t first, k, p;                                                                        \
        for (first = 0; first < AGGI_LANES; first += sizeof(vec) / sizeof *lane) {                 \
            vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0};                                  \
            vec s5 = {0}, s6 = {0}, s7 = {0}, s8 = {0}, x, y, z, w;                                \
            for (k = first; k < width; k += AGGI_LANES) {                                          \
                AGGI_LOAD(x, b + k);                                                               \
                AGGI_LOAD(y, b + k + AGGI_PACKED);                                                 \
                AGGI_LOAD(z, b + k + 2 * AGGI_PACKED);                                             \
                AGGI_KEEP(x);                                                                      \
                AGGI_KEEP(y);                                                                      \
                AGGI_KEEP(z);                                                                      \
                AGGI_DOT3(a + k, s0, s1, s2)                                                       \
                AGGI_DOT3(a + k + AGGI_PACKED, s3, s4, s5)                                         \
                AGGI_DOT3(a + k + 2 * AGGI_PACKED, s6, s7, s8)                                     \
            }                                                                                      \
            AGGI_STORE(lane + first, s0);                                                          \
            AGGI_STORE(lane + first + 1 * AGGI_LANES, s1);                                         \
            AGGI_STORE(lane + first + 2 * AGGI_LANES, s2);                                         \
            AGGI_STORE(lane + first + 3 * AGGI_LANES, s3);                                         \
            AGGI_STORE(lane + first + 4 * AGGI_LANES, s4);                                         \
            AGGI_STORE(lane + first + 5 * AGGI_LANES, s5);                                         \
            AGGI_STORE(lane + first + 6 * AGGI_LANES, s6);                                         \
            AGGI_STORE(lane + first + 7 * AGGI_LANES, s7);                                         \
            AGGI_STORE(lane + first + 8 * AGGI_LANES, s8);                                         \
        }                                                                                          \
        for (p = 0; p < 9; p++) {                                                                  \
            const agg_real *v = lane + p * AGGI_LANES;                                             \
            const double v0 = (double)(v[0] + v[4]), v1 = (double)(v[1] + v[5]);                   \
            const double v2 = (double)(v[2] + v[6]), v3 = (double)(v[3] + v[7]);                   \
            part[p] += (v0 + v1) + (v2 + v3);                                                      \
        }                                                                                          \
    }                                                                                              \
    attribute static void aggi_dots_in_units##suffix(const agg_real *a, const agg_real *b,         \
                                                     size_t width, const double *unit_a,           \
                                                     const double *unit_b, double *part) {         \
        double sum[9] = {0};                                                                       \
        size_t p;                                                                                  \
        aggi_dots##suffix(a, b, width, sum);                                                       \
        for (p = 0; p < 9; p++) part[p] += sum[p] * unit_a[p / 3] * unit_b[p % 3];                 \
    }                                                                                              \
    attribute static void aggi_gram##suffix(const agg_real *pack, size_t threes, size_t width,     \
                                            const double *unit, aggi_ahead *next, double *part) {  \
        const size_t far_apart = 3 * AGGI_PACKED, lines = 200 / threes + 1;                        \
        size_t panel, i, j;                                                                        \
        for (panel = 0; panel < threes; panel += 4) {                                              \
            for (i = panel; i < threes; i++) {                                                     \
                for (j = panel; j < panel + 4 && j <= i; j++) {                                    \
                    const agg_real *a = pack + i * far_apart, *b = pack + j * far_apart;           \
                    double *to = part + 9 * (i * (i + 1) / 2 + j);                                 \
                    aggi_ask(next, lines);                                                         \
                    if (unit)                                                                      \
                        aggi_dots_in_units##suffix(a, b, width, unit + 3 * i, unit + 3 * j, to);   \
                    else                                                                           \
                        aggi_dots##suffix(a, b, width, to);                                        \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    attribute static int aggi_pack##suffix(const agg_real *AGGI_RESTRICT x,                        \
                                           const agg_real *AGGI_RESTRICT o, size_t width,          \
                                           aggi_zoom zoom, agg_real *AGGI_RESTRICT to) {           \
        const agg_real shrink = (agg_real)zoom.shrink, grow = (agg_real)zoom.grow;                 \
        aggi_word large = 0, b;                                                                    \
        size_t k;                                                                                  \
        for (k = 0; k < width; k++) {                                                              \
            const agg_real v = (x[k] * shrink - o[k] * shrink) * grow;                             \
            memcpy(&b, &v, sizeof b);                                                              \
            large |= (b & AGGI_REAL_INF) + AGGI_CARRY;                                             \
            to[k] = v;                                                                             \
        }                                                                                          \
        return (large & AGGI_REAL_SIGN) != 0;                                                      \
    }
#ifdef __AVX__
  AGGI_TWINS(AGGI_GRAM_KERNEL, aggi_wide, aggi_wide)
#else
  AGGI_TWINS(AGGI_GRAM_KERNEL, aggi_vec, aggi_wide)
#endif

/* clang-format on */

/* rows of this size, made usual */
static aggi_zoom aggi_zoom_by(int size) {
    aggi_zoom z;
    z.shrink = size > 0 ? aggi_pow2(-size) : 1;
    z.grow = size < 0 ? aggi_pow2(-size) : 1;
    z.exponent = 2 * size;
    return z;
}

/* The size of a row whose numbers are up to about 2^e. */
static int aggi_size_of(int e) {
    const int usual = sizeof(agg_real) > 4 ? 128 : 16, most = sizeof(agg_real) > 4 ? 1000 : 100;
    if (e >= -usual && e <= usual) return 0;
    return e > most ? most : e < -most ? -most : e;
}

/* log2 of the largest number of x - o */
static int aggi_size_between(const agg_real *x, const agg_real *o, size_t count) {
    double most = 0;
    size_t k;
    for (k = 0; k < count; k++) {
        const double v = aggi_abs((double)x[k] - (double)o[k]);
        if (!aggi_finite(v)) return 1024;
        most = aggi_max(most, v);
    }
    return most > 0 ? aggi_exponent(most) : 0;
}

/* Row i is larger in this block than elsewhere, as seen from o: packs it anew and sets its unit,
   unless that is out of range. */
static void aggi_pack_large(const aggi_call *c, size_t i, const agg_real *o, size_t at,
                            size_t width, agg_real *to, double *unit) {
    const agg_real *x = c->x[i] + at;
    const int size = aggi_size_of(aggi_size_between(x, o, width)), by = size - c->pairs.size[i];
    if (by <= 0 || by > 1000) return;
    *unit = aggi_pow2(by);
    (void)AGGI_TWIN(c->avx2, aggi_pack)(x, o, width, aggi_zoom_by(size), to);
}

/* pack = a block of all rows, as seen from row `center`. Returns how many are in units of their
   own, *other becomes one of them; or AGGI_CONVICTED if one is not finite. */
#define AGGI_CONVICTED ((size_t)-1)

static size_t aggi_gram_pack(const aggi_call *c, size_t center, size_t at, size_t width,
                             agg_real *pack, double *unit, size_t *other) {
    const size_t odd = (AGGI_LANES - width % AGGI_LANES) % AGGI_LANES;
    const agg_real *o = c->x[center] + at;
    size_t i, large = 0;
    for (i = 0; i < c->n; i++) {
        agg_real *to = pack + i * AGGI_PACKED;
        memset(to + width, 0, odd * sizeof *to);
        unit[i] = 1;
        if (!AGGI_TWIN(c->avx2, aggi_pack)(c->x[i] + at, o, width, aggi_zoom_by(c->pairs.size[i]),
                                           to))
            continue;
        if (!aggi_all_finite(c->x[i] + at, width)) return AGGI_CONVICTED;
        aggi_pack_large(c, i, o, at, width, to, unit + i);
        if (large++ <= c->n / 4) *other = i;
    }
    return large;
}

/* The same; if most rows are large, it is the centre that is, and this block is seen from another
   row. */
static size_t aggi_gram_pack_best(const aggi_call *c, size_t at, size_t width, agg_real *pack,
                                  double *unit) {
    size_t t, center = c->pairs.center, large = 0;
    for (t = 0; t < 4; t++) {
        large = aggi_gram_pack(c, center, at, width, pack, unit, &center);
        if (large <= c->n / 2 || large == AGGI_CONVICTED) break;
    }
    return large;
}

static void aggi_gram_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const size_t threes = aggi_threes(c->n), end = aggi_slice_begin(c, s + 1);
    agg_real *pack = c->pairs.pack + s * 3 * aggi_threes(c->desc->n) * AGGI_PACKED;
    double *part = c->part + s * job->count, *unit = c->pairs.scale + s * 3 * threes;
    size_t at, width;
    aggi_begin_sums(c, part, job->count);
    memset(pack + c->n * AGGI_PACKED, 0, (3 * threes - c->n) * AGGI_PACKED * sizeof *pack);
    memset(unit, 0, 3 * threes * sizeof *unit);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        aggi_ahead next;
        size_t lanes, own;
        width = aggi_width(at, end, AGGI_PACKED);
        next = aggi_ahead_make(c, at + width, AGGI_PACKED);
        lanes = (width + AGGI_LANES - 1) / AGGI_LANES * AGGI_LANES;
        own = aggi_gram_pack_best(c, at, width, pack, unit);
        if (own == AGGI_CONVICTED) { /* no square of a finite row is NaN */
            part[0] = aggi_from_bits(AGGI_NAN);
            return;
        }
        AGGI_TWIN(c->avx2, aggi_gram)(pack, threes, lanes, own ? unit : NULL, &next, part);
    }
}

/* c->part has the dot products of three rows with three, those of rows 3 q with rows 3 p here,
   p <= q: that of rows 3 p + r and 3 q + s is number 3 s + r. */
static const double *aggi_gram_at(const aggi_call *c, size_t p, size_t q) {
    return c->part + 9 * (q * (q + 1) / 2 + p);
}

/* Enters the pair i < j by a_i.a_j, p->score having a_i.a_i; returns 1 if it is in doubt. */
static int aggi_gram_enter(aggi_call *c, size_t i, size_t j, double dot) {
    const aggi_pairs *p = &c->pairs;
    const int a = p->size[i], b = p->size[j], larger = a > b ? a : b;
    double squares = p->score[i] + p->score[j], least = AGGI_TINY, v;
    unsigned kind = AGGI_FAIR;
    if (a || b) {
        int back;
        kind = larger > 450 ? AGGI_SHRUNK : larger < -450 ? AGGI_GROWN : AGGI_FAIR;
        back = aggi_zoom_make(kind).exponent;
        squares = aggi_scaled(p->score[i], 2 * a - back) + aggi_scaled(p->score[j], 2 * b - back);
        dot = aggi_scaled(dot, a + b - back);
        least = aggi_scaled(least, 2 * larger - back);
    }
    v = squares - 2 * dot;
    p->entry[i * c->n + j] = v;
    p->mark[i * c->n + j] = (unsigned char)kind;
    if (aggi_finite(v) && AGGI_GRAM_ERROR * (squares + 2 * least) <= AGGI_DOUBT * v) return 0;
    aggi_pair_doubt(c, i, j, AGGI_FAIR);
    return 1;
}

/* Enters all pairs into the upper half of the matrix; returns how many are in doubt. */
static size_t aggi_gram_enter_all(aggi_call *c) {
    const size_t threes = aggi_threes(c->n);
    size_t p, q, i, j, doubts = 0;
    memset(c->pairs.mark, 0, c->n * c->n);
    for (i = 0; i < c->n; i++) c->pairs.score[i] = aggi_gram_at(c, i / 3, i / 3)[4 * (i % 3)];
    for (q = 0; q < threes; q++) { /* as c->part has them */
        for (p = 0; p <= q; p++) {
            const double *dot = aggi_gram_at(c, p, q);
            for (i = 3 * p; i < 3 * p + 3; i++)
                for (j = q > p ? 3 * q : i + 1; j < 3 * q + 3 && j < c->n; j++)
                    doubts += (size_t)aggi_gram_enter(c, i, j, dot[3 * (j - 3 * q) + i - 3 * p]);
        }
    }
    return doubts;
}

/* The row in the middle: of the smallest ball of a majority, by the upper half of the matrix as it
   is. */
static size_t aggi_gram_center(aggi_call *c) {
    double *entry = c->pairs.entry, radius;
    const size_t n = c->n;
    size_t i, j;
    for (i = 0; i < n; i++) {
        entry[i * n + i] = 0;
        for (j = i + 1; j < n; j++) {
            const double v = entry[i * n + j];
            entry[j * n + i] = entry[i * n + j] = aggi_finite(v) ? aggi_max(v, 0) : aggi_infinity();
        }
    }
    return aggi_best_ball(c, n / 2 + 1, &radius);
}

/* A look at some numbers of all rows: `groups` times `width` of them, `step` apart; of a centre
   too, unless it is NULL. */
typedef struct aggi_peek {
    const aggi_call *c;
    const agg_real *const *row; /* n */
    const agg_real *center;
    size_t n, groups, step, width;
    agg_real *to; /* stages: groups x rows x width, the centre being the last row */
} aggi_peek;

static size_t aggi_peek_count(const aggi_peek *p) { return p->n + (p->center ? 1 : 0); }

static int aggi_stages_peek(aggi_peek *p);

static aggi_peek aggi_peek_make(const aggi_call *c, const agg_real *const *row, size_t n) {
    aggi_peek p;
    memset(&p, 0, sizeof p);
    p.c = c;
    p.row = row;
    p.n = n;
    return p;
}

/* a sample of the rows in play, at most so many groups of 8, all over the row */
static aggi_peek aggi_sample(const aggi_call *c, size_t most) {
    const size_t want = c->dim / 256;
    aggi_peek p = aggi_peek_make(c, c->x, c->n);
    p.groups = want > most ? most : want < 8 ? 8 : want;
    p.step = (c->dim - 8) / (p.groups - 1);
    p.width = 8;
    return p;
}

/* to + i * apart = what is seen of row i */
static int aggi_peek_rows(aggi_peek *p, agg_real *to, size_t apart) {
    const int status = p->c->window.stages ? aggi_stages_peek(p) : AGG_OK;
    size_t i, g;
    for (i = 0; i < p->n && status == AGG_OK; i++)
        for (g = 0; g < p->groups; g++)
            memcpy(to + i * apart + g * p->width,
                   p->to ? p->to + (g * p->n + i) * p->width : p->row[i] + g * p->step,
                   p->width * sizeof *to);
    return status;
}

/* sum = squared distances of m rows, `apart` from each other, from another */
static void aggi_sample_distances(const aggi_call *c, const agg_real *from, const agg_real *to,
                                  size_t apart, size_t m, size_t count, double *sum) {
    aggi_pairs_job job;
    aggi_star t;
    size_t j;
    job.c = c;
    job.exact = 1;
    job.count = m;
    t.from = from;
    t.zoom = aggi_zoom_make(AGGI_FAIR);
    memset(sum, 0, m * sizeof *sum);
    for (j = 0; j < m; j += t.m) {
        for (t.m = 0; t.m < AGGI_STAR && j + t.m < m; t.m++) t.to[t.m] = to + (j + t.m) * apart;
        aggi_star_add(&job, &t, 0, count, sum + j);
    }
}

/* p->center and p->size by a sample: of some rows the one whose ball of a majority is smallest */
static int aggi_gram_begin(aggi_call *c) {
    aggi_pairs *p = &c->pairs;
    aggi_peek sample = aggi_sample(c, AGGI_PACKED / 8);
    const size_t n = c->n, tries = n < 24 ? n : 24, count = 8 * sample.groups;
    const int status = aggi_peek_rows(&sample, p->pack, AGGI_PACKED);
    double radius = aggi_infinity();
    size_t i, j, t;
    if (status) return status;
    p->center = 0;
    for (t = 0; t < tries; t++) {
        aggi_sample_distances(c, p->pack + t * n / tries * AGGI_PACKED, p->pack, AGGI_PACKED, n,
                              count, p->score);
        for (j = 0; j < n; j++)
            if (!aggi_finite(p->score[j])) p->score[j] = aggi_infinity();
        if (aggi_count_below(c->avx2, p->score, n, radius) <= n / 2) continue; /* no smaller ball */
        aggi_rank(c->item, p->score, n, n);
        radius = c->item[n / 2].key;
        p->center = t * n / tries;
    }
    for (i = 0; i < n; i++)
        p->size[i] = aggi_size_of(
            aggi_size_between(p->pack + i * AGGI_PACKED, p->pack + p->center * AGGI_PACKED, count));
    return AGG_OK;
}

/* p->center and p->size by a first pass that was not good enough. Returns 0 if they are the same
   again. */
static int aggi_gram_improve(aggi_call *c) {
    aggi_pairs *p = &c->pairs;
    const size_t old = p->center;
    int better;
    size_t i;
    p->center = aggi_gram_center(c);
    better = p->center != old;
    for (i = 0; i < c->n; i++) {
        const size_t low = i < p->center ? i : p->center, high = i < p->center ? p->center : i;
        const double v = p->entry[i * c->n + p->center];
        const int e = aggi_zoom_make(p->mark[low * c->n + high] % AGGI_NOW).exponent;
        const int size = !aggi_finite(v) ? aggi_size_of(1024)
                         : v > 0         ? aggi_size_of((aggi_exponent(v) + e) / 2)
                                         : 0;
        better |= size != p->size[i];
        p->size[i] = size;
    }
    return better;
}

/* All pairs by dot products, as seen from p->center; *doubts: how many are in doubt. */
static int aggi_gram_pass(aggi_call *c, size_t *doubts) {
    aggi_pairs_job job;
    int status;
    job.c = c;
    job.exact = 0;
    job.count = aggi_gram_sums(c->n);
    status = aggi_add_slices(c, aggi_gram_run, &job, sizeof job, job.count);
    if (status) return status;
    if (!aggi_is_number(c->part[0])) return AGGI_NOT_FINITE;
    *doubts = aggi_gram_enter_all(c);
    return AGG_OK;
}

/* The same. If the row they are seen from was a bad choice, or some rows are much larger than the
   sample said, once more: but not for a NaN. */
static int aggi_gram_pairs(aggi_call *c, size_t *doubts) {
    const size_t few = c->n * (c->n - 1) / 8;
    int status = aggi_gram_begin(c);
    if (status == AGG_OK) status = aggi_gram_pass(c, doubts);
    if (status || *doubts <= few) return status;
    status = aggi_pairs_again(c, 0);
    if (status) return status;
    return aggi_gram_improve(c) ? aggi_gram_pass(c, doubts) : AGG_OK;
}

/* Short rows, for which a sample would take too long: one number of each row is compared with its
   neighbour's. Most differ by denormals: all pairs will have to be grown, *unusual is 1. */
static int aggi_foresee_short(aggi_call *c, int *unusual) {
    const agg_real tiny = (agg_real)AGGI_VANISH;
    const size_t n = c->n;
    agg_real number[AGGI_GRAM][AGGI_GRAM];
    aggi_peek peek = aggi_peek_make(c, c->x, n);
    size_t i, tiny_ones = 0;
    int status;
    peek.groups = n;
    peek.step = c->dim / n;
    peek.width = 1;
    status = aggi_peek_rows(&peek, number[0], AGGI_GRAM);
    if (status) return status;
    for (i = 0; i + 1 < n; i++) {
        const agg_real off = number[i][i] - number[i + 1][i];
        tiny_ones += off >= -tiny && off <= tiny && (off > 0 || off < 0);
    }
    *unusual = tiny_ones > n / 2;
    for (i = 0; i < n && *unusual; i++)
        memset(c->pairs.mark + i * n + i + 1, (int)(AGGI_NOW | AGGI_GROWN), n - i - 1);
    return AGG_OK;
}

/* the mark of a pair by a sample of the two rows, whose squared distance is `sum` */
static unsigned aggi_foreseen(const agg_real *a, const agg_real *b, double sum) {
    if (!aggi_finite(sum) || sum > AGGI_HUGE_SEEN) return AGGI_SHRUNK;
    return sum < AGGI_TINY && aggi_size_between(a, b, 64) < 0 ? AGGI_GROWN : AGGI_FAIR;
}

/* Few rows: marks how each pair will have to be summed, by a sample, so that giants do not cost a
   run that is in vain. *unusual stays 0 if all are fair. */
static int aggi_foresee(aggi_call *c, int exact, int *unusual) {
    const size_t n = c->n;
    agg_real sample[AGGI_GRAM][64];
    double sum[AGGI_GRAM];
    aggi_peek peek;
    size_t i, j;
    int status;
    if (n >= AGGI_GRAM || (exact && sizeof(agg_real) < sizeof(double))) return AGG_OK;
    memset(c->pairs.mark, 0, n * n);
    if (c->dim < 8192) return aggi_foresee_short(c, unusual);
    peek = aggi_sample(c, 8);
    status = aggi_peek_rows(&peek, sample[0], 64);
    for (i = 0; i < n && status == AGG_OK; i++) {
        aggi_sample_distances(c, sample[i], sample[0], 64, n, 64, sum);
        for (j = i + 1; j < n; j++) {
            const unsigned kind = aggi_foreseen(sample[i], sample[j], sum[j]);
            c->pairs.mark[i * n + j] = (unsigned char)(AGGI_NOW | kind);
            *unusual |= kind != AGGI_FAIR;
        }
    }
    return status;
}

/* All pairs by differences; *doubts: how many are in doubt, or are still to be done. */
static int aggi_star_pairs(aggi_call *c, int exact, size_t *doubts) {
    aggi_pairs_job job;
    int status, unusual = 0;
    job.c = c;
    job.exact = exact;
    *doubts = job.count = c->n * (c->n - 1) / 2;
    status = aggi_foresee(c, exact, &unusual);
    if (status || unusual) return status;
    status = aggi_add_slices(c, aggi_pairs_run, &job, sizeof job, job.count);
    if (status == AGG_OK) *doubts = aggi_pairs_enter(c, exact);
    return status;
}

/* The exponents of the squared distances, from *low to *high; 0 where all rows are equal. */
static void aggi_pairs_range(const aggi_call *c, int *low, int *high) {
    size_t i, j;
    *low = 4096;
    *high = -4096;
    for (i = 0; i < c->n; i++) {
        for (j = i + 1; j < c->n; j++) {
            const double v = c->pairs.entry[i * c->n + j];
            const int e = aggi_exponent(v) + aggi_zoom_make(c->pairs.mark[i * c->n + j]).exponent;
            if (!(v > 0)) continue;
            if (e < *low) *low = e;
            if (e > *high) *high = e;
        }
    }
    if (*low > *high) *low = *high = 0;
}

/* entry = the pair's squared distance, or root, from the sum as its zoom made it */
AGGI_INLINE double aggi_pair_value(const aggi_pairs *p, size_t at, int unit) {
    const unsigned kind = p->mark[at];
    const int e = (kind ? aggi_zoom_make(kind).exponent : 0) - unit;
    const double v = p->entry[at];
    if (p->roots) return aggi_root0(aggi_root0(v)) * aggi_pow2(e / 4);
    return e ? aggi_scaled(v, e) : v;
}

/* Squared distances of doubles may not fit a double. Then the matrix is wide, and has them in a
   unit of its own, a power of two; if there is no such unit for all, it has roots. The other half
   is filled by columns few enough to stay in the cache. */
static void aggi_pairs_finish(aggi_call *c) {
    const size_t n = c->n, few = 64;
    aggi_pairs *p = &c->pairs;
    int low = 0, high = 0, unit;
    size_t from, i, j;
    if (sizeof(agg_real) == sizeof(double)) aggi_pairs_range(c, &low, &high);
    p->wide = low < -960 || high > 960;
    p->roots = high - low > 1900;
    unit = p->wide && !p->roots ? (low + high) / 8 * 4 : 0;
    p->unit = aggi_pow2(unit / 4);
    for (from = 0; from < n; from += few) {
        const size_t end = from + aggi_width(from, n, few);
        for (i = 0; i < end; i++) {
            p->entry[i * n + i] = 0;
            for (j = i < from ? from : i + 1; j < end; j++)
                p->entry[i * n + j] = p->entry[j * n + i] = aggi_pair_value(p, i * n + j, unit);
        }
    }
}

/* Fills c->pairs for the rows in play; exact: floats are subtracted and squared in double. */
static int aggi_find_pairs(aggi_call *c, int exact) {
    const int gram = aggi_has_gram(c->n, c->dim) && !exact;
    size_t doubts = 0;
    int status = gram ? aggi_gram_pairs(c, &doubts) : aggi_star_pairs(c, exact, &doubts);
    if (status == AGG_OK && doubts) {
        status = aggi_pairs_again(c, exact);
        if (status) return status;
        aggi_pairs_rest(c);
        status = aggi_pairs_again(c, exact);
    }
    if (status) return status;
    aggi_pairs_finish(c);
    return AGG_OK;
}

/* an entry of the matrix as a root */
static double aggi_pair_root(const aggi_pairs *p, double v) {
    return p->roots ? v : aggi_root0(aggi_root0(v)) * p->unit;
}

/* an entry of the matrix as a squared distance, in units of another entry */
static double aggi_pair_square(const aggi_pairs *p, double v, double unit) {
    return p->roots ? aggi_squared(aggi_ratio(v, unit)) : v / unit;
}

/* ||x - v||^2, v == NULL: ||x||^2. Lane l sums the coordinates that are l modulo
   AGGI_SQUARE_LANES, AGGI_BLOCK of them in agg_real, then on in double: 20 roundings at most. The
   _zoomed kernel measures (x shrink - v shrink) grow instead. */

static const agg_real aggi_zeros[AGGI_BLOCK] = {0};

/* the lanes in a tree, by halves; the loops of fixed length become vector code */
AGGI_INLINE double aggi_sum_square_lanes(agg_real *lane) {
    size_t l;
    for (l = 0; l < 16; l++) lane[l] += lane[l + 16];
    for (l = 0; l < 8; l++) lane[l] += lane[l + 8];
    for (l = 0; l < 4; l++) lane[l] += lane[l + 4];
    return (double)((lane[0] + lane[2]) + (lane[1] + lane[3]));
}

/* clang-format off */

#define AGGI_AS_IT_IS(u)  (u)
#define AGGI_BY_SHRINK(u) ((u) * shrink)
#define AGGI_BY_GROW(u)   ((u) * grow)

#define AGGI_SQUARE_ADD(p, vec, SHRINK, GROW)                                                      \
    AGGI_LOAD(u, x + k + p * step);                                                                \
    AGGI_LOAD(w, y + k + p * step);                                                                \
    u = GROW(SHRINK(u) - SHRINK(w));                                                               \
    s##p += u * u;
#define AGGI_SQUARE_STORE(p, vec, SHRINK, GROW) AGGI_STORE(lane + first + p * step, s##p);

#define AGGI_SQUARE_TEMPLATE(name, attribute, vec, SHRINK, GROW)                                   \
    attribute static double name(const agg_real *x, const agg_real *v, size_t width, aggi_zoom z,  \
                                 double sum) {                                                     \
        const agg_real shrink = (agg_real)z.shrink, grow = (agg_real)z.grow;                       \
        const size_t step = sizeof(vec) / sizeof(agg_real);                                        \
        (void)shrink;                                                                              \
        (void)grow;                                                                                \
        while (width) {                                                                            \
            const size_t here = width < AGGI_BLOCK ? width : AGGI_BLOCK;                           \
            const size_t whole = here / AGGI_SQUARE_LANES * AGGI_SQUARE_LANES;                     \
            const agg_real *y = v ? v : aggi_zeros;                                                \
            agg_real lane[AGGI_SQUARE_LANES], t;                                                   \
            size_t first, k;                                                                       \
            for (first = 0; first < AGGI_SQUARE_LANES; first += 4 * step) {                        \
                vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, u, w;                                  \
                for (k = first; k < whole; k += AGGI_SQUARE_LANES) {                               \
                    AGGI_EACH4(AGGI_SQUARE_ADD, vec, SHRINK, GROW)                                 \
                }                                                                                  \
                AGGI_EACH4(AGGI_SQUARE_STORE, vec, SHRINK, GROW)                                   \
            }                                                                                      \
            for (k = whole; k < here; k++) {                                                       \
                t = GROW(SHRINK(x[k]) - SHRINK(y[k]));                                             \
                lane[k - whole] += t * t;                                                          \
            }                                                                                      \
            sum += aggi_sum_square_lanes(lane);                                                    \
            width -= here;                                                                         \
            x += here;                                                                             \
            v = v ? v + here : NULL;                                                               \
        }                                                                                          \
        return sum;                                                                                \
    }
#define AGGI_SQUARE_KERNELS(suffix, attribute, vec)                                                \
    AGGI_SQUARE_TEMPLATE(aggi_square##suffix, attribute, vec, AGGI_AS_IT_IS, AGGI_AS_IT_IS)        \
    AGGI_SQUARE_TEMPLATE(aggi_square_zoomed##suffix, attribute, vec, AGGI_BY_SHRINK, AGGI_BY_GROW)
AGGI_TWINS(AGGI_SQUARE_KERNELS, aggi_vec32, aggi_wide)

/* clang-format on */

typedef struct aggi_roots_job {
    const aggi_call *c;
    const agg_real *const *row; /* n */
    size_t n;
    const agg_real *center;
} aggi_roots_job;

/* How are the squares of x - v to be formed at first? Fairly, unless a look at some numbers shows
   that they would vanish: denormals take long. It is but a guess, right or wrong. */
AGGI_INLINE unsigned aggi_square_foreseen(const agg_real *x, const agg_real *v, size_t step) {
    const agg_real tiny = (agg_real)AGGI_VANISH;
    agg_real any = 0;
    size_t k, t;
    for (k = 0, t = 0; t < 8; k += step, t++) {
        const agg_real off = v ? x[k] - v[k] : x[k];
        if (off > tiny || off < -tiny) return AGGI_FAIR;
        if (off > any || off < any) any = off;
    }
    return any > 0 || any < 0 ? AGGI_GROWN : AGGI_FAIR;
}

/* c->kind of rows of which eight numbers were seen */
static int aggi_roots_peek(const aggi_roots_job *job) {
    const aggi_call *c = job->c;
    agg_real x[8], v[8];
    aggi_peek p = aggi_peek_make(c, job->row, job->n);
    size_t i, g;
    int status;
    p.center = job->center;
    p.groups = 8;
    p.step = c->dim / 8;
    p.width = 1;
    status = aggi_stages_peek(&p);
    if (status) return status;
    for (i = 0; i < p.n; i++) {
        for (g = 0; g < 8; g++) {
            x[g] = p.to[g * aggi_peek_count(&p) + i];
            v[g] = p.to[(g + 1) * aggi_peek_count(&p) - 1];
        }
        c->kind[i] = (unsigned char)(AGGI_NOW | aggi_square_foreseen(x, p.center ? v : NULL, 1));
    }
    return AGG_OK;
}

/* The squares of all rows are to be formed; c->kind says how. */
static int aggi_roots_from(aggi_roots_job *job, const aggi_call *c, const agg_real *const *row,
                           size_t n, const agg_real *center) {
    size_t i;
    job->c = c;
    job->row = row;
    job->n = n;
    job->center = center;
    if (c->window.stages) return aggi_roots_peek(job);
    for (i = 0; i < n; i++)
        c->kind[i] = (unsigned char)(AGGI_NOW | aggi_square_foreseen(row[i], center, c->dim / 8));
    return AGG_OK;
}

/* sum + ||x - v||^2, formed as kind says */
AGGI_INLINE double aggi_square_of(const aggi_call *c, const agg_real *x, const agg_real *v,
                                  size_t width, unsigned kind, double sum) {
    const aggi_zoom zoom = aggi_zoom_make(kind % AGGI_NOW);
    if (kind % AGGI_NOW) return AGGI_TWIN(c->avx2, aggi_square_zoomed)(x, v, width, zoom, sum);
    return AGGI_TWIN(c->avx2, aggi_square)(x, v, width, zoom, sum);
}

static void aggi_roots_run(void *arg, size_t s) {
    const aggi_roots_job *job = (const aggi_roots_job *)arg;
    const aggi_call *c = job->c;
    const size_t begin = aggi_slice_begin(c, s), width = aggi_slice_begin(c, s + 1) - begin;
    const agg_real *center = job->center ? job->center + begin : NULL;
    double *part = c->part + s * job->n;
    size_t i;
    aggi_begin_sums(c, part, job->n);
    for (i = 0; i < job->n; i++)
        if (c->kind[i] & AGGI_NOW)
            part[i] = aggi_square_of(c, job->row[i] + begin, center, width, c->kind[i], part[i]);
}

/* sum[i] = what the slices left for row i; returns how many are to be formed again */
static size_t aggi_roots_enter(const aggi_roots_job *job, double *sum) {
    const aggi_call *c = job->c;
    size_t i, s, again = 0;
    for (i = 0; i < job->n; i++) {
        const unsigned kind = c->kind[i] % AGGI_NOW;
        unsigned next;
        if (!(c->kind[i] & AGGI_NOW)) continue;
        sum[i] = c->part[i];
        for (s = 1; s < c->slices; s++) sum[i] += c->part[s * job->n + i];
        next = aggi_zoom_next(sum[i], kind, 0);
        if (!aggi_is_number(sum[i])) next = kind;    /* convicted */
        if (job->row[i] == job->center) next = kind; /* 0, or that */
        c->kind[i] = (unsigned char)(next == kind ? kind : AGGI_NOW | next);
        again += next != kind;
    }
    return again;
}

static int aggi_roots_pass(aggi_roots_job *job) {
    return aggi_run_leaving(job->c, aggi_roots_run, job, sizeof *job, job->c->part,
                            job->n * sizeof *job->c->part);
}

/* root[i] = sqrt(||row_i - center||) from the sums that the slices left in c->part */
static int aggi_roots_of_squares(aggi_roots_job *job, double *root) {
    const aggi_call *c = job->c;
    size_t i;
    int run, status;
    for (run = 0; aggi_roots_enter(job, root) && run < 2; run++) {
        status = aggi_roots_pass(job);
        if (status) return status;
    }
    for (i = 0; i < job->n; i++) {
        const int exponent = aggi_zoom_make(c->kind[i] % AGGI_NOW).exponent;
        if (!aggi_finite(root[i])) return AGGI_NOT_FINITE;
        root[i] = aggi_root0(aggi_root0(root[i])) * aggi_pow2(exponent / 4);
    }
    return AGG_OK;
}

/* root[i] = sqrt(||row_i - center||); center == NULL: of the norm. A row that is not finite has no
   finite sum. */
static int aggi_find_roots(const aggi_call *c, const agg_real *const *row, size_t n,
                           const agg_real *center, double *root) {
    aggi_roots_job job;
    int status = aggi_roots_from(&job, c, row, n, center);
    if (status == AGG_OK) status = aggi_roots_pass(&job);
    return status ? status : aggi_roots_of_squares(&job, root);
}

/* ---- 5 weighted sums of rows ----------------------------------------------------------------- */

/* The blend sum_i weight_i row_i / total. The weights sum to total, so it is written as
   x_0 + sum_i w_i (x_i - x_0), with x_0 the row of most weight: equal rows come out exactly, and a
   giant of hardly any weight spoils nothing. A single row may have any weight: it is scaled. All is
   done in agg_real, AGGI_BUNCH rows to a sum. With u its rounding unit the error is at most
       u |result| + (AGGI_BUNCH + n / AGGI_BUNCH + 4) u sum_i |w_i (x_i - x_0)|. */

/* what the weights of a rule make of the rows in play */
static aggi_blend aggi_result(const aggi_call *c) {
    aggi_blend b;
    b.row = c->x;
    b.weight = c->weight;
    b.n = c->n;
    b.total = c->total;
    return b;
}

/* the result is the mean of these rows */
static void aggi_choose(aggi_call *c, const size_t *row, size_t count) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 0;
    for (i = 0; i < count; i++) c->weight[row[i]] = 1;
    c->total = (double)count;
}

/* the result is the mean of the first `count` rows of c->item */
static void aggi_choose_ranked(aggi_call *c, size_t count) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 0;
    for (i = 0; i < count; i++) c->weight[c->item[i].index] = 1;
    c->total = (double)count;
}

/* The terms of such a sum: the rows but for x_0, those of very small weight first. */
static void aggi_terms_begin(aggi_terms *t, const agg_real *base, double factor, double share) {
    t->base = base;
    t->factor = factor;
    t->share = (agg_real)share;
    t->n = t->light = 0;
}

static void aggi_terms_add(aggi_terms *t, const agg_real *row, double weight) {
    t->row[t->n] = row;
    t->weight[t->n++] = (agg_real)weight;
}

/* the rows with |weight| in [from, to), in units; but not the base itself */
static void aggi_terms_between(aggi_terms *t, const aggi_blend *b, size_t base, double from,
                               double to, double unit) {
    size_t i;
    for (i = 0; i < b->n; i++) {
        const double w = b->weight[i], size = aggi_abs(w);
        if (i != base && w != 0 && size >= from && size < to)
            aggi_terms_add(t, b->row[i], w / unit);
    }
}

static void aggi_terms_of(aggi_terms *t, const aggi_blend *b) {
    const double light = b->total * aggi_pow2(AGGI_LIGHT);
    size_t i, heavy = 0, used = 0, equal = 0;
    double unit;
    for (i = 0; i < b->n; i++)
        if (b->weight[i] > b->weight[heavy]) heavy = i;
    unit = b->weight[heavy];
    for (i = 0; i < b->n; i++) {
        used += b->weight[i] != 0;
        equal += b->weight[i] == unit;
    }
    aggi_terms_begin(t, b->row[heavy], used == 1 ? unit / b->total : 1,
                     used == equal ? unit / b->total : 1);
    if (used != equal) unit = b->total;
    aggi_terms_between(t, b, heavy, 0, light, unit * aggi_pow2(-AGGI_LIFT));
    t->light = t->n;
    aggi_terms_between(t, b, heavy, light, aggi_infinity(), unit);
}

/* to = (x a) b: b alone might vanish in agg_real */
AGGI_INLINE void aggi_scale_body(const agg_real *AGGI_RESTRICT x, size_t width, agg_real a,
                                 agg_real b, agg_real *AGGI_RESTRICT to) {
    size_t k;
    for (k = 0; k < width; k++) to[k] = x[k] * a * b;
}

/* where v is not finite, v = other unit */
AGGI_INLINE void aggi_mend_body(agg_real *AGGI_RESTRICT v, const agg_real *AGGI_RESTRICT other,
                                double unit, size_t width) {
    size_t k;
    for (k = 0; k < width; k++) {
        const double old = (double)v[k], mended = aggi_clamp((double)other[k] * unit);
        const uint64_t odd = aggi_top((aggi_bits(old) & AGGI_INF) + 0x0010000000000000u);
        v[k] = (agg_real)aggi_pick(odd, mended, old);
    }
}

/* acc (+)= sum_i weight_i (row_i - base), all numbers shrunk, for up to AGGI_BUNCH rows, in
   coordinates [at, at + width); the first bunch sets acc, the last makes base + share acc of it. */
typedef struct aggi_bunch {
    const agg_real *const *row;
    const agg_real *weight, *base;
    size_t n;
    size_t ahead; /* prefetched are numbers so much further on; 0: nothing */
    agg_real shrink, share;
    int first, last;
} aggi_bunch;

/* clang-format off */

#define AGGI_BY_WEIGHT(u) ((u) * w)

#define AGGI_BUNCH_BASE(p, vec, SHRINK, WEIGH)                                                     \
    AGGI_LOAD(b##p, base + k + p * step);                                                          \
    b##p = SHRINK(b##p);
#define AGGI_BUNCH_ADD(p, vec, SHRINK, WEIGH)                                                      \
    AGGI_LOAD(u, x + p * step);                                                                    \
    s##p += WEIGH(SHRINK(u) - b##p);
#define AGGI_BUNCH_GO_ON(p, vec, SHRINK, WEIGH)                                                    \
    AGGI_LOAD(u, acc + k + p * step);                                                              \
    s##p += u;
#define AGGI_BUNCH_END(p, vec, SHRINK, WEIGH)   s##p = s##p * g->share + b##p;
#define AGGI_BUNCH_STORE(p, vec, SHRINK, WEIGH) AGGI_STORE(acc + k + p * step, s##p);

#define AGGI_BUNCH_TEMPLATE(name, attribute, vec, SHRINK, WEIGH)                                   \
    attribute static void name(const aggi_bunch *g, size_t at, size_t width, agg_real *acc) {      \
        const size_t step = sizeof(vec) / sizeof(agg_real);                                        \
        const agg_real *base = g->base + at, shrink = g->shrink;                                   \
        size_t i, k;                                                                               \
        agg_real w;                                                                                \
        (void)shrink;                                                                              \
        for (k = 0; k + 4 * step <= width; k += 4 * step) {                                        \
            vec b0, b1, b2, b3, s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, u;                         \
            AGGI_EACH4(AGGI_BUNCH_BASE, vec, SHRINK, WEIGH)                                        \
            for (i = 0; i < g->n; i++) {                                                           \
                const agg_real *x = g->row[i] + at + k;                                            \
                w = g->weight[i];                                                                  \
                (void)w;                                                                           \
                if (g->ahead) {                                                                    \
                    AGGI_PREFETCH(x + g->ahead);                                                   \
                    AGGI_PREFETCH(x + g->ahead + 2 * step);                                        \
                }                                                                                  \
                AGGI_EACH4(AGGI_BUNCH_ADD, vec, SHRINK, WEIGH)                                     \
            }                                                                                      \
            if (!g->first) {                                                                       \
                AGGI_EACH4(AGGI_BUNCH_GO_ON, vec, SHRINK, WEIGH)                                   \
            }                                                                                      \
            if (g->last) {                                                                         \
                AGGI_EACH4(AGGI_BUNCH_END, vec, SHRINK, WEIGH)                                     \
            }                                                                                      \
            AGGI_EACH4(AGGI_BUNCH_STORE, vec, SHRINK, WEIGH)                                       \
        }                                                                                          \
        for (; k < width; k++) {                                                                   \
            const agg_real b = SHRINK(base[k]);                                                    \
            agg_real sum = 0;                                                                      \
            for (i = 0; i < g->n; i++) {                                                           \
                w = g->weight[i];                                                                  \
                sum += WEIGH(SHRINK(g->row[i][at + k]) - b);                                       \
            }                                                                                      \
            if (!g->first) sum += acc[k];                                                          \
            acc[k] = g->last ? sum * g->share + b : sum;                                           \
        }                                                                                          \
    }
#define AGGI_BUNCH_KERNELS(suffix, attribute, vec)                                                 \
    attribute static void aggi_scale##suffix(const agg_real *x, size_t width, agg_real a,          \
                                             agg_real b, agg_real *to) {                           \
        aggi_scale_body(x, width, a, b, to);                                                       \
    }                                                                                              \
    attribute static int aggi_scan_row##suffix(const agg_real *x, size_t width) {                  \
        return aggi_all_finite_body(x, width);                                                     \
    }                                                                                              \
    attribute static void aggi_mend##suffix(agg_real *v, const agg_real *other, double unit,       \
                                            size_t width) {                                        \
        aggi_mend_body(v, other, unit, width);                                                     \
    }                                                                                              \
    AGGI_BUNCH_TEMPLATE(aggi_bunch_equal##suffix, attribute, vec, AGGI_AS_IT_IS, AGGI_AS_IT_IS)    \
    AGGI_BUNCH_TEMPLATE(aggi_bunch_plain##suffix, attribute, vec, AGGI_AS_IT_IS, AGGI_BY_WEIGHT)   \
    AGGI_BUNCH_TEMPLATE(aggi_bunch_shrunk##suffix, attribute, vec, AGGI_BY_SHRINK, AGGI_BY_WEIGHT)
AGGI_TWINS(AGGI_BUNCH_KERNELS, aggi_vec32, aggi_wide)

/* clang-format on */

static void aggi_add_bunch(int avx2, const aggi_bunch *g, size_t at, size_t width, agg_real *acc) {
    if (g->shrink != 1)
        AGGI_TWIN(avx2, aggi_bunch_shrunk)(g, at, width, acc);
    else if (g->share != 1)
        AGGI_TWIN(avx2, aggi_bunch_equal)(g, at, width, acc);
    else
        AGGI_TWIN(avx2, aggi_bunch_plain)(g, at, width, acc);
}

/* How far to prefetch, up to coordinate `end`: many long rows, read a piece at a time, are more
   than the machine foresees. */
static size_t aggi_terms_ahead(const aggi_terms *t, size_t end) {
    return t->n > AGGI_BUNCH && t->dim >= 4 * AGGI_SPAN && t->dim - end >= AGGI_AHEAD ? AGGI_AHEAD
                                                                                      : 0;
}

/* acc = shrink times coordinates [at, at + width) of the sum */
static void aggi_sum_terms(int avx2, const aggi_terms *t, size_t at, size_t width, double shrink,
                           agg_real *acc) {
    aggi_bunch g;
    size_t i;
    g.base = t->base;
    g.share = t->share;
    g.ahead = aggi_terms_ahead(t, at + width);
    g.last = 0;
    for (i = 0; !g.last; i += g.n) {
        const int light = i < t->light;
        g.row = t->row + i;
        g.weight = t->weight + i;
        g.n = aggi_width(i, light ? t->light : t->n, AGGI_BUNCH);
        g.shrink = (agg_real)(light ? shrink * aggi_pow2(-AGGI_LIFT) : shrink);
        g.first = !i;
        g.last = !light && i + g.n == t->n;
        aggi_add_bunch(avx2, &g, at, width, acc);
    }
}

/* Where a sum of giants overflowed: again, shrunk. Returns AGGI_NOT_FINITE if that does not help,
   since some row is not finite; all numbers before it are then. */
static int aggi_mend_terms(int avx2, const aggi_terms *t, size_t at, size_t width, agg_real *acc) {
    const double shrink = aggi_pow2(-40); /* for fewer than 2^38 rows */
    agg_real shrunk[AGGI_COLS];
    size_t k, here;
    for (k = 0; k < width; k += here) {
        here = aggi_width(k, width, AGGI_COLS);
        if (AGGI_TWIN(avx2, aggi_scan_row)(acc + k, here)) continue;
        aggi_sum_terms(avx2, t, at + k, here, shrink, shrunk);
        if (!AGGI_TWIN(avx2, aggi_scan_row)(shrunk, here)) return AGGI_NOT_FINITE;
        AGGI_TWIN(avx2, aggi_mend)(acc + k, shrunk, 1 / shrink, here);
    }
    return AGG_OK;
}

/* how many numbers at the front are finite, at least */
static size_t aggi_finite_front(int avx2, const agg_real *x, size_t width) {
    size_t k = 0;
    while (k + AGGI_COLS < width && AGGI_TWIN(avx2, aggi_scan_row)(x + k, AGGI_COLS))
        k += AGGI_COLS;
    return k;
}

/* acc = coordinates [at, at + width) of the sum, width <= AGGI_SPAN */
static int aggi_terms_block(int avx2, const aggi_terms *t, size_t at, size_t width, agg_real *acc) {
    const double lift = t->factor < aggi_pow2(AGGI_LIGHT) ? aggi_pow2(AGGI_LIFT) : 1;
    const agg_real down = (agg_real)(1 / lift), factor = (agg_real)(t->factor * lift);
    if (!t->n)
        AGGI_TWIN(avx2, aggi_scale)(t->base + at, width, down, factor, acc);
    else
        aggi_sum_terms(avx2, t, at, width, 1, acc);
    if (AGGI_TWIN(avx2, aggi_scan_row)(acc, width)) return AGG_OK;
    return aggi_mend_terms(avx2, t, at, width, acc);
}

typedef struct aggi_combine_job {
    const aggi_call *c;
    const aggi_terms *terms;
    agg_real *out;
    int in_place; /* out is none of the rows, which are few: the sum is made there */
} aggi_combine_job;

static void aggi_combine_run(void *arg, size_t s) {
    aggi_combine_job *job = (aggi_combine_job *)arg;
    const size_t end = aggi_slice_begin(job->c, s + 1);
    const size_t span = job->terms->n > AGGI_BUNCH ? AGGI_SPAN : AGGI_BLOCK;
    agg_real memory[AGGI_SPAN], *acc = memory;
    size_t at, width;
    for (at = aggi_slice_begin(job->c, s); at < end; at += width) {
        if (job->in_place) acc = job->out + at;
        width = aggi_width(at, end, span);
        job->c->status[s] = aggi_terms_block(job->c->avx2, job->terms, at, width, acc);
        job->c->clean[s] = at;
        if (job->c->status[s]) {
            job->c->clean[s] += aggi_finite_front(job->c->avx2, acc, width);
            return;
        }
        if (!job->in_place) memcpy(job->out + at, acc, width * sizeof *acc);
    }
}

static int aggi_is_term(const aggi_terms *t, const agg_real *row) {
    size_t i;
    for (i = 0; i < t->n && t->row[i] != row; i++) continue;
    return i < t->n || t->base == row;
}

/* out = the sum of the terms; it may be one of their rows */
static int aggi_add_up(const aggi_call *c, const aggi_terms *terms, agg_real *out) {
    aggi_combine_job job;
    int status;
    job.c = c;
    job.terms = terms;
    job.out = out;
    job.in_place = terms->n <= AGGI_BUNCH && !aggi_is_term(terms, out);
    status = aggi_run(c, aggi_combine_run, &job, sizeof job);
    return status ? status : aggi_any(c);
}

/* c->out = the blend; it may be a row of it */
static int aggi_combine(aggi_call *c, const aggi_blend *blend) {
    aggi_terms_of(&c->terms, blend);
    return aggi_add_up(c, &c->terms, c->out);
}

/* ---- 6 columns ------------------------------------------------------------------------------- */

/* AGGI_COLS coordinates of all rows, a block, are sorted together, so that every comparison is a
   vector min and max over the columns. Runs of up to AGGI_RUN rows are sorted in registers on their
   way from the rows to the block; in the block sorted runs are merged by a network. Of a sorted
   column the values in a window are averaged, from the lowest up. Which of several equal values
   belong to a window, and so which rows, is settled by a second look at the rows, where it matters:
   all columns of the block at once again, so that nobody can choose numbers that take long. */

/* Batcher's odd-even merge of sorted runs of AGGI_RUN, of 2 AGGI_RUN, ...: every other d places are
   compared with the next d, if they are in the same two runs. Returns the number of comparisons. */
static size_t aggi_network(size_t n, aggi_compare *list) {
    size_t run, d, i, count = 0;
    for (run = AGGI_RUN; run < n; run *= 2) {
        for (d = run; d > 0; d /= 2) {
            const size_t first = d < run ? d : 0;
            for (i = first; i + d < n; i++) {
                if (((i - first) & d) || ((i ^ (i + d)) & ~(2 * run - 1))) continue;
                list[count].low = (uint32_t)i;
                list[count].need = AGGI_LESSER | AGGI_GREATER;
                list[count++].high = (uint32_t)(i + d);
            }
        }
    }
    return count;
}

/* Takes out of the network what the places [from, to) do not need: results that nothing reads. Goes
   from the last comparison to the first; read[i]: is place i read further on? */
static size_t aggi_prune(aggi_compare *list, size_t count, size_t n, size_t from, size_t to,
                         uint32_t *read) {
    size_t i, first = count;
    for (i = 0; i < n; i++) read[i] = i >= from && i < to;
    for (i = count; i-- > 0;) {
        aggi_compare c = list[i];
        c.need = (read[c.low] ? AGGI_LESSER : 0u) | (read[c.high] ? AGGI_GREATER : 0u);
        if (!c.need) continue;
        read[c.low] = read[c.high] = 1;
        list[--first] = c;
    }
    memmove(list, list + first, (count - first) * sizeof *list);
    return count - first;
}

/* Which values of a sorted column are averaged: those in the middle, or those closest to its
   median. */
enum { AGGI_MIDDLE, AGGI_CLOSEST };

/* A block in work. Of the closest values: off = value - median, and reach is the distance within
   which all `keep` are; without weights it is only known, and not 0, where values on both sides of
   the median are as far off and which of them count has to be settled. */
typedef struct aggi_block {
    const agg_real *const *row; /* n: column l of the block is row[i][at + l] */
    size_t at, width;           /* width is a multiple of AGGI_GROUP */
    size_t ahead;               /* what is prefetched is so many columns further on */
    size_t n, keep;             /* rows, and how many values of a column are averaged */
    size_t edge;                /* so often once more the lowest and the highest of the middle */
    agg_real *cols;             /* n x AGGI_COLS */
    void *tally; /* n x AGGI_GROUP words, or NULL: in how many columns, modulo AGGI_GROUP, row i is
                    inside the window; words of 64 bits for the closest, as agg_real for the middle
                  */
    double median[AGGI_COLS], sum[AGGI_COLS], reach[AGGI_COLS];
    uint64_t odd[AGGI_COLS]; /* the top bit is set if a sum overflows; then the column is ... */
    double scale[AGGI_COLS]; /* ... multiplied by this, else 1 */
    agg_real out[AGGI_COLS];
} aggi_block;

/* what the kernel that averages found in a block: a mean that is not finite, a tie to be settled */
enum { AGGI_OVERFLOW = 1, AGGI_TIE = 2 };

/* clang-format off */

/* Vectors of agg_real with vec##_min, vec##_max, and the words that comparisons make, ones or zeros
   (vec##_mask, made by vec##_is). */
#if defined(AGGI_X86) || defined(__aarch64__)
  typedef agg_real  aggi_bytes16 AGGI_VECTOR(16);
  typedef aggi_word aggi_bytes16_mask AGGI_VECTOR(16);
  typedef agg_real  aggi_bytes32 AGGI_VECTOR(32);
  typedef aggi_word aggi_bytes32_mask AGGI_VECTOR(32);
  #define aggi_bytes16_is(condition) ((aggi_bytes16_mask)(condition))
  #define aggi_bytes32_is(condition) ((aggi_bytes32_mask)(condition))
  #if !defined(AGGI_X86)
    AGGI_INLINE aggi_bytes16 aggi_bytes16_min(aggi_bytes16 u, aggi_bytes16 v) {
        const aggi_bytes16_mask m = aggi_bytes16_is(u < v);
        return (aggi_bytes16)(((aggi_bytes16_mask)u & m) | ((aggi_bytes16_mask)v & ~m));
    }
    AGGI_INLINE aggi_bytes16 aggi_bytes16_max(aggi_bytes16 u, aggi_bytes16 v) {
        const aggi_bytes16_mask m = aggi_bytes16_is(u > v);
        return (aggi_bytes16)(((aggi_bytes16_mask)u & m) | ((aggi_bytes16_mask)v & ~m));
    }
  #elif defined(AGG_DOUBLE)
    #define aggi_bytes16_min __builtin_ia32_minpd
    #define aggi_bytes16_max __builtin_ia32_maxpd
    #define aggi_bytes32_min __builtin_ia32_minpd256
    #define aggi_bytes32_max __builtin_ia32_maxpd256
  #else
    #define aggi_bytes16_min __builtin_ia32_minps
    #define aggi_bytes16_max __builtin_ia32_maxps
    #define aggi_bytes32_min __builtin_ia32_minps256
    #define aggi_bytes32_max __builtin_ia32_maxps256
  #endif
  #ifdef __AVX__
    #define AGGI_REAL_TWINS(KERNEL) AGGI_TWINS(KERNEL, aggi_bytes32, aggi_bytes32)
  #else
    #define AGGI_REAL_TWINS(KERNEL) AGGI_TWINS(KERNEL, aggi_bytes16, aggi_bytes32)
  #endif
#else
  typedef agg_real  aggi_one;
  typedef aggi_word aggi_one_mask;
  #define aggi_one_is(condition)  (0u - (aggi_one_mask)(condition))
  #define aggi_one_min(u, v)      ((u) < (v) ? (u) : (v))
  #define aggi_one_max(u, v)      ((u) > (v) ? (u) : (v))
  #define AGGI_REAL_TWINS(KERNEL) AGGI_TWINS(KERNEL, aggi_one, aggi_one)
#endif

/* Vectors of doubles that are loaded from and stored to as many agg_real (vec##_real), with their
   bits (vec##_mask). */
#ifdef AGGI_CONVERT
  typedef double   aggi_cols2 AGGI_VECTOR(16);
  typedef uint64_t aggi_cols2_mask AGGI_VECTOR(16);
  typedef agg_real aggi_cols2_real AGGI_VECTOR(2 * sizeof(agg_real));
  typedef double   aggi_cols4 AGGI_VECTOR(32);
  typedef uint64_t aggi_cols4_mask AGGI_VECTOR(32);
  typedef agg_real aggi_cols4_real AGGI_VECTOR(4 * sizeof(agg_real));
  #define aggi_cols2_convert(v)   AGGI_CONVERT(v, aggi_cols2)
  #if defined(AGGI_X86) && !defined(AGG_DOUBLE) && !defined(__clang__)
    #define aggi_cols4_convert    __builtin_ia32_cvtps2pd256 /* gcc makes four instructions of it */
  #else
    #define aggi_cols4_convert(v) AGGI_CONVERT(v, aggi_cols4)
  #endif
  #define AGGI_READ(vec, v, from)                                                                  \
      do {                                                                                         \
          vec##_real real_;                                                                        \
          AGGI_LOAD(real_, from);                                                                  \
          v = vec##_convert(real_);                                                                \
      } while (0)
  #define AGGI_WRITE(vec, to, v)                                                                   \
      do {                                                                                         \
          const vec##_real real_ = AGGI_CONVERT(v, vec##_real);                                    \
          AGGI_STORE(to, real_);                                                                   \
      } while (0)
  #define AGGI_IS(vec, condition) ((vec##_mask)(condition))
  #define AGGI_BITS(vec, v)       ((vec##_mask)(v))
  #define AGGI_FROM(vec, bits)    ((vec)(bits))
  #ifdef __AVX__
    #define AGGI_F64_TWINS(KERNEL) AGGI_TWINS(KERNEL, aggi_cols4, aggi_cols4)
  #else
    #define AGGI_F64_TWINS(KERNEL) AGGI_TWINS(KERNEL, aggi_cols2, aggi_cols4)
  #endif
#else
  typedef double   aggi_cols1;
  typedef uint64_t aggi_cols1_mask;
  #define AGGI_READ(vec, v, from)  v = (double)*(from)
  #define AGGI_WRITE(vec, to, v)   *(to) = (agg_real)(v)
  #define AGGI_IS(vec, condition)  (0u - (uint64_t)(condition))
  #define AGGI_BITS(vec, v)        aggi_bits(v)
  #define AGGI_FROM(vec, bits)     aggi_from_bits(bits)
  #define AGGI_F64_TWINS(KERNEL)   AGGI_TWINS(KERNEL, aggi_cols1, aggi_cols1)
#endif
#define AGGI_MAGNITUDE(vec, v)     AGGI_FROM(vec, AGGI_BITS(vec, v) & ~AGGI_SIGN)
#define AGGI_WHERE(vec, m, v)      AGGI_FROM(vec, AGGI_BITS(vec, v) & (m))
#define AGGI_SELECT(vec, m, a, b)                                                                  \
    AGGI_FROM(vec, (AGGI_BITS(vec, a) & (m)) | (AGGI_BITS(vec, b) & ~(m)))
/* the top bit is set if v is not finite: 1 more in an exponent of all ones carries into the sign */
#define AGGI_ODD(vec, v)           ((AGGI_BITS(vec, v) & ~AGGI_SIGN) + 0x0010000000000000u)
#ifdef AGG_DOUBLE
  #define AGGI_SCALED(v, scale)    ((v) * (scale))
  #define AGGI_TOPS                AGGI_SIGN
#else
  #define AGGI_SCALED(v, scale)    (v) /* sums of floats do not overflow a double */
  #define AGGI_TOPS                0x8000000080000000u
#endif

/* all words of a vector in one, by or */
AGGI_INLINE uint64_t aggi_or_words(const void *vector, size_t bytes) {
    uint64_t all = 0, word = 0;
    const size_t each = bytes < sizeof word ? bytes : sizeof word;
    size_t i;
    for (i = 0; i < bytes; i += each) {
        memcpy(&word, (const char *)vector + i, each);
        all |= word;
    }
    return all;
}

/* A run of m rows: loaded, looked at for NaN and Inf, sorted by Batcher's network for 16, of which
   m leaves out what it does not have, and stored. m is a constant wherever it counts. */
#define AGGI_PLACES(X, with)                                                                       \
    X(with, 0) X(with, 1) X(with, 2) X(with, 3) X(with, 4) X(with, 5) X(with, 6) X(with, 7)        \
    X(with, 8) X(with, 9) X(with, 10) X(with, 11) X(with, 12) X(with, 13) X(with, 14) X(with, 15)
#define AGGI_SORT16(X, vec)                                                                        \
    X(vec, 0, 1) X(vec, 2, 3) X(vec, 4, 5) X(vec, 6, 7) X(vec, 8, 9) X(vec, 10, 11)                \
    X(vec, 12, 13) X(vec, 14, 15)                                                                  \
    X(vec, 0, 2) X(vec, 1, 3) X(vec, 4, 6) X(vec, 5, 7) X(vec, 8, 10) X(vec, 9, 11)                \
    X(vec, 12, 14) X(vec, 13, 15)                                                                  \
    X(vec, 1, 2) X(vec, 5, 6) X(vec, 9, 10) X(vec, 13, 14)                                         \
    X(vec, 0, 4) X(vec, 1, 5) X(vec, 2, 6) X(vec, 3, 7) X(vec, 8, 12) X(vec, 9, 13)                \
    X(vec, 10, 14) X(vec, 11, 15)                                                                  \
    X(vec, 2, 4) X(vec, 3, 5) X(vec, 10, 12) X(vec, 11, 13)                                        \
    X(vec, 1, 2) X(vec, 3, 4) X(vec, 5, 6) X(vec, 9, 10) X(vec, 11, 12) X(vec, 13, 14)             \
    X(vec, 0, 8) X(vec, 1, 9) X(vec, 2, 10) X(vec, 3, 11) X(vec, 4, 12) X(vec, 5, 13)              \
    X(vec, 6, 14) X(vec, 7, 15)                                                                    \
    X(vec, 4, 8) X(vec, 5, 9) X(vec, 6, 10) X(vec, 7, 11)                                          \
    X(vec, 2, 4) X(vec, 3, 5) X(vec, 6, 8) X(vec, 7, 9) X(vec, 10, 12) X(vec, 11, 13)              \
    X(vec, 1, 2) X(vec, 3, 4) X(vec, 5, 6) X(vec, 7, 8) X(vec, 9, 10) X(vec, 11, 12)               \
    X(vec, 13, 14)
#define AGGI_RUN_LOAD(vec, i)                                                                      \
    vec v##i;                                                                                      \
    AGGI_LOAD(v##i, row[i < m ? i : 0] + at + l);
#define AGGI_RUN_TEST(vec, i)                                                                      \
    if (i < m) {                                                                                   \
        vec##_mask bits_;                                                                          \
        AGGI_LOAD(bits_, row[i] + at + l);                                                         \
        AGGI_PREFETCH(row[i] + at + l + ahead);                                                    \
        odd |= (bits_ & AGGI_REAL_INF) + AGGI_REAL_UNIT;                                           \
    }
#define AGGI_RUN_COMPARE(vec, i, j)                                                                \
    if (j < m) {                                                                                   \
        const vec lesser_ = vec##_min(v##i, v##j);                                                 \
        v##j = vec##_max(v##j, v##i);                                                              \
        v##i = lesser_;                                                                            \
    }
#define AGGI_RUN_STORE(vec, i)                                                                     \
    if (i < m) AGGI_STORE(cols + i * AGGI_COLS + l, v##i);
#define AGGI_RUN_CASE(suffix, i)                                                                   \
    case i + 1: return aggi_sort_some##suffix(b, first, i + 1);

/* rows first .. first + m - 1 of the block; returns whether there is a NaN or Inf */
#define AGGI_RUN_KERNEL(suffix, attribute, vec)                                                    \
    attribute AGGI_INLINE int aggi_sort_some##suffix(const aggi_block *b, size_t first,            \
                                                     const size_t m) {                             \
        const agg_real *const *row = b->row + first;                                               \
        agg_real *cols = b->cols + first * AGGI_COLS;                                              \
        const size_t at = b->at, width = b->width, ahead = b->ahead;                               \
        vec##_mask odd = {0};                                                                      \
        size_t l;                                                                                  \
        for (l = 0; l < width; l += sizeof(vec) / sizeof(agg_real)) {                              \
            AGGI_PLACES(AGGI_RUN_LOAD, vec)                                                        \
            AGGI_PLACES(AGGI_RUN_TEST, vec)                                                        \
            AGGI_SORT16(AGGI_RUN_COMPARE, vec)                                                     \
            AGGI_PLACES(AGGI_RUN_STORE, vec)                                                       \
        }                                                                                          \
        return (aggi_or_words(&odd, sizeof odd) & AGGI_TOPS) != 0;                                 \
    }                                                                                              \
    attribute static int aggi_sort_run##suffix(const aggi_block *b, size_t first, size_t m) {      \
        switch (m) { AGGI_PLACES(AGGI_RUN_CASE, suffix) }                                          \
        return 0;                                                                                  \
    }
AGGI_REAL_TWINS(AGGI_RUN_KERNEL)

/* The network on the block. Each comparison writes the lesser, the greater or both. */
#define AGGI_MERGE_KERNEL(suffix, attribute, vec)                                                  \
    attribute static void aggi_merge_runs##suffix(const aggi_block *block,                         \
                                                  const aggi_compare *list, size_t count) {        \
        const size_t step = sizeof(vec) / sizeof(agg_real), width = block->width;                  \
        size_t i, l;                                                                               \
        for (i = 0; i < count; i++) {                                                              \
            agg_real *a = block->cols + list[i].low * AGGI_COLS;                                   \
            agg_real *b = block->cols + list[i].high * AGGI_COLS;                                  \
            vec u, v, w;                                                                           \
            if (list[i].need == (AGGI_LESSER | AGGI_GREATER)) {                                    \
                for (l = 0; l < width; l += step) {                                                \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_min(u, v);                                                           \
                    AGGI_STORE(a + l, w);                                                          \
                    w = vec##_max(v, u);                                                           \
                    AGGI_STORE(b + l, w);                                                          \
                }                                                                                  \
            } else if (list[i].need == AGGI_LESSER) {                                              \
                for (l = 0; l < width; l += step) {                                                \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_min(u, v);                                                           \
                    AGGI_STORE(a + l, w);                                                          \
                }                                                                                  \
            } else {                                                                               \
                for (l = 0; l < width; l += step) {                                                \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_max(v, u);                                                           \
                    AGGI_STORE(b + l, w);                                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
AGGI_REAL_TWINS(AGGI_MERGE_KERNEL)

/* out = the mean of the sorted values [from, to) of each column, and of b->edge times the lowest
   and the highest of them, as lowest + mean of what they are above it */
#define AGGI_MIDDLE_KERNEL(suffix, attribute, vec)                                                 \
    attribute static int aggi_mean_of_middle##suffix(aggi_block *b, size_t from, size_t to) {      \
        const double share = 1.0 / (double)(to - from + 2 * b->edge), edge = (double)b->edge;      \
        vec##_mask m, odd = {0};                                                                   \
        size_t i, l;                                                                               \
        for (l = 0; l < b->width; l += sizeof(vec) / sizeof(double)) {                             \
            vec low, v, sum = {0};                                                                 \
            AGGI_READ(vec, low, b->cols + from * AGGI_COLS + l);                                   \
            for (i = from + 1; i < to; i++) {                                                      \
                AGGI_READ(vec, v, b->cols + i * AGGI_COLS + l);                                    \
                sum += v - low;                                                                    \
            }                                                                                      \
            if (b->edge) {                                                                         \
                AGGI_READ(vec, v, b->cols + (to - 1) * AGGI_COLS + l);                             \
                sum += (v - low) * edge;                                                           \
            }                                                                                      \
            v = low + sum * share;                                                                 \
            m = AGGI_ODD(vec, v);                                                                  \
            odd |= m;                                                                              \
            AGGI_STORE(b->odd + l, m);                                                             \
            AGGI_WRITE(vec, b->out + l, v);                                                        \
        }                                                                                          \
        return aggi_or_words(&odd, sizeof odd) & AGGI_SIGN ? AGGI_OVERFLOW : 0;                    \
    }
AGGI_F64_TWINS(AGGI_MIDDLE_KERNEL)

/* out = the mean of the `keep` sorted values closest to the median: a window of that length holds
   one value of each class modulo keep. In a class go up as long as the next value is closer; of two
   on both sides that are as far off the lower is taken here, which is to be settled. (Only one
   distance can be tied in a column: from class to class the lower values come closer and the upper
   ones go away.) The median of giants may overflow, and then so does the mean. */
#define AGGI_ADD_OFF(vec)                                                                          \
    do {                                                                                           \
        sum += off;                                                                                \
        if (b->tally) {                                                                            \
            next = AGGI_MAGNITUDE(vec, off);                                                       \
            m = AGGI_IS(vec, next > reach);                                                        \
            reach = AGGI_SELECT(vec, m, next, reach);                                              \
        }                                                                                          \
    } while (0)
#define AGGI_CLOSEST_KERNEL(suffix, attribute, vec)                                                \
    attribute static int aggi_mean_of_closest##suffix(aggi_block *b) {                             \
        const size_t n = b->n, keep = b->keep;                                                     \
        const double share = 1.0 / (double)keep, most = 2 * (double)keep;                          \
        vec##_mask odd = {0}, tied = {0};                                                          \
        size_t i, j, l;                                                                            \
        for (l = 0; l < b->width; l += sizeof(vec) / sizeof(double)) {                             \
            const agg_real *cols = b->cols + l;                                                    \
            vec median, off, next, sum = {0}, reach = {0};                                         \
            vec##_mask tie = {0}, m;                                                               \
            AGGI_READ(vec, off, cols + (n - 1) / 2 * AGGI_COLS);                                   \
            AGGI_READ(vec, next, cols + n / 2 * AGGI_COLS);                                        \
            median = (off + next) * 0.5;                                                           \
            for (i = 0; i < keep && i + keep < n; i++) {                                           \
                AGGI_READ(vec, off, cols + i * AGGI_COLS);                                         \
                off -= median;                                                                     \
                for (j = i + keep; j < n; j += keep) {                                             \
                    AGGI_READ(vec, next, cols + j * AGGI_COLS);                                    \
                    next -= median;                                                                \
                    tie |= AGGI_IS(vec, -off == next) & AGGI_BITS(vec, next);                      \
                    m = AGGI_IS(vec, -off > next);                                                 \
                    off = AGGI_SELECT(vec, m, next, off);                                          \
                }                                                                                  \
                AGGI_ADD_OFF(vec);                                                                 \
            }                                                                                      \
            for (; i < keep; i++) {                                                                \
                AGGI_READ(vec, off, cols + i * AGGI_COLS);                                         \
                off -= median;                                                                     \
                AGGI_ADD_OFF(vec);                                                                 \
            }                                                                                      \
            tied |= tie;                                                                           \
            off = AGGI_MAGNITUDE(vec, AGGI_FROM(vec, tie));                                        \
            next = median + sum * share;                                                           \
            m = AGGI_ODD(vec, next) | AGGI_ODD(vec, off * most);                                   \
            odd |= m;                                                                              \
            if (!b->tally) reach = off;                                                            \
            AGGI_STORE(b->odd + l, m);                                                             \
            AGGI_STORE(b->median + l, median);                                                     \
            AGGI_STORE(b->sum + l, sum);                                                           \
            AGGI_STORE(b->reach + l, reach);                                                       \
            AGGI_WRITE(vec, b->out + l, next);                                                     \
        }                                                                                          \
        return (aggi_or_words(&odd, sizeof odd) & AGGI_SIGN ? AGGI_OVERFLOW : 0) |                 \
               (aggi_or_words(&tied, sizeof tied) & ~AGGI_SIGN ? AGGI_TIE : 0);                    \
    }
AGGI_F64_TWINS(AGGI_CLOSEST_KERNEL)

/* Ties of the closest values: if more than `keep` are within reach, as many as are too many are not
   inside: of the rows exactly at reach those with the highest indices. The upper ones are out so
   far; sum grows by 2 reach for every one that is inside instead of a lower one. Only `edge` values
   at each end of a sorted column can be out of a window. Counts are doubles from 2^52 on: a 1 more
   in the bits is a 1 more. */
#define AGGI_COUNT_MORE(vec, count, m) count = AGGI_FROM(vec, AGGI_BITS(vec, count) - (m))
#define AGGI_TALLY(vec, i, op, m)                                                                  \
    do {                                                                                           \
        vec##_mask words_;                                                                         \
        AGGI_LOAD(words_, tally + i * AGGI_GROUP + l % AGGI_GROUP);                                \
        words_ op (m);                                                                             \
        AGGI_STORE(tally + i * AGGI_GROUP + l % AGGI_GROUP, words_);                               \
    } while (0)
#define AGGI_READ_OFF(vec, i)                                                                      \
    AGGI_READ(vec, off, row[i] + at + l);                                                          \
    off = AGGI_SCALED(off, scale) - median
#define AGGI_SETTLE_ROW(vec, i)                                                                    \
    AGGI_READ_OFF(vec, i);                                                                         \
    up = AGGI_IS(vec, off == reach);                                                               \
    m = up | AGGI_IS(vec, off == -reach);                                                          \
    AGGI_COUNT_MORE(vec, ties, m);                                                                 \
    left = AGGI_IS(vec, ties <= excess);                                                           \
    AGGI_COUNT_MORE(vec, gone, up & left);                                                         \
    if (tally) AGGI_TALLY(vec, i, +=, m & left);
#define AGGI_SETTLE_CLOSEST_KERNEL(suffix, attribute, vec)                                         \
    attribute static void aggi_settle_closest##suffix(aggi_block *b) {                             \
        const size_t n = b->n, at = b->at, edge = n / 2 < n - b->keep ? n / 2 : n - b->keep;       \
        const double none = 4503599627370496.0, share = 1.0 / (double)b->keep;                     \
        const double out_of = none + (double)b->keep - (double)(n - 2 * edge);                     \
        const agg_real *const *row = b->row;                                                       \
        uint64_t *tally = (uint64_t *)b->tally;                                                    \
        size_t i, l;                                                                               \
        for (l = 0; l < b->width; l += sizeof(vec) / sizeof(double)) {                             \
            const agg_real *low = b->cols + l, *high = low + (n - edge) * AGGI_COLS;               \
            vec median, reach, scale, sum, off, excess, zero = {0};                                \
            vec inside = zero + none, upper = inside, ties = inside, gone = inside;                \
            vec##_mask m, up, left;                                                                \
            AGGI_LOAD(median, b->median + l);                                                      \
            AGGI_LOAD(reach, b->reach + l);                                                        \
            AGGI_LOAD(scale, b->scale + l);                                                        \
            for (i = 0; i < edge; i++) {                                                           \
                AGGI_READ(vec, off, low + i * AGGI_COLS);                                          \
                AGGI_COUNT_MORE(vec, inside, AGGI_IS(vec, median - off <= reach));                 \
                AGGI_READ(vec, off, high + i * AGGI_COLS);                                         \
                off -= median;                                                                     \
                AGGI_COUNT_MORE(vec, inside, AGGI_IS(vec, off <= reach));                          \
                AGGI_COUNT_MORE(vec, upper, AGGI_IS(vec, off == reach));                           \
            }                                                                                      \
            for (i = 0; tally && i < n; i++) {                                                     \
                AGGI_READ_OFF(vec, i);                                                             \
                m = AGGI_IS(vec, AGGI_MAGNITUDE(vec, off) <= reach);                               \
                AGGI_TALLY(vec, i, -=, m);                                                         \
            }                                                                                      \
            excess = inside - out_of;                                                              \
            m = AGGI_IS(vec, excess > zero);                                                       \
            if (tally && !aggi_or_words(&m, sizeof m)) continue;                                   \
            excess += none;                                                                        \
            for (i = n; i > 1; i -= 2) {                                                           \
                AGGI_SETTLE_ROW(vec, (i - 1))                                                      \
                AGGI_SETTLE_ROW(vec, (i - 2))                                                      \
            }                                                                                      \
            if (i) {                                                                               \
                AGGI_SETTLE_ROW(vec, 0)                                                            \
            }                                                                                      \
            m = AGGI_IS(vec, excess < upper);                                                      \
            AGGI_LOAD(sum, b->sum + l);                                                            \
            sum += (AGGI_SELECT(vec, m, excess, upper) - gone) * reach * 2.0;                      \
            off = median + sum * share;                                                            \
            AGGI_WRITE(vec, b->out + l, off);                                                      \
        }                                                                                          \
    }
AGGI_F64_TWINS(AGGI_SETTLE_CLOSEST_KERNEL)

/* Which rows are inside the places [from, to) of the sorted columns, by the rows: those between the
   lowest and the highest value there, and if they are more than these places, not the first of
   those that equal the lowest, nor the last of those that equal the highest. */
#define AGGI_COUNT_MIDDLE_KERNEL(suffix, attribute, vec)                                           \
    attribute static void aggi_count_middle##suffix(aggi_block *b, size_t from, size_t to) {       \
        const agg_real *const *row = b->row;                                                       \
        const size_t n = b->n, at = b->at;                                                         \
        aggi_word *tally = (aggi_word *)b->tally;                                                  \
        size_t i, l;                                                                               \
        for (l = 0; l < b->width; l += sizeof(vec) / sizeof(agg_real)) {                           \
            vec low, high, v;                                                                      \
            vec##_mask zero = {0}, below = {0}, inside = {0}, skip, excess, m;                     \
            AGGI_LOAD(low, b->cols + from * AGGI_COLS + l);                                        \
            AGGI_LOAD(high, b->cols + (to - 1) * AGGI_COLS + l);                                   \
            for (i = 0; i < n; i++) {                                                              \
                AGGI_LOAD(v, row[i] + at + l);                                                     \
                below -= vec##_is(v < low);                                                        \
                m = vec##_is(v >= low) & vec##_is(v <= high);                                      \
                inside -= m;                                                                       \
                AGGI_TALLY(vec, i, -=, m);                                                         \
            }                                                                                      \
            m = inside - (aggi_word)(to - from);                                                   \
            if (!aggi_or_words(&m, sizeof m)) continue;                                            \
            skip = (aggi_word)from - below;                                                        \
            for (i = 0; i < n; i++) {                                                              \
                AGGI_LOAD(v, row[i] + at + l);                                                     \
                m = vec##_is(v == low) & vec##_is(skip != zero);                                   \
                skip += m;                                                                         \
                AGGI_TALLY(vec, i, +=, m);                                                         \
            }                                                                                      \
            excess = below + inside - (aggi_word)to;                                               \
            for (i = n; i-- > 0;) {                                                                \
                AGGI_LOAD(v, row[i] + at + l);                                                     \
                m = vec##_is(v == high) & vec##_is(excess != zero);                                \
                excess += m;                                                                       \
                AGGI_TALLY(vec, i, +=, m);                                                         \
            }                                                                                      \
        }                                                                                          \
    }
AGGI_REAL_TWINS(AGGI_COUNT_MIDDLE_KERNEL)

/* Sums of giants that overflow: places [from, to) of their columns are scaled down, so that no sum
   of 4 keep of their numbers does, and what comes of it is scaled up again. */
#ifdef AGG_DOUBLE
  #define AGGI_SCALE_KERNEL(suffix, attribute, vec)                                                \
      attribute static void aggi_scale_down##suffix(aggi_block *b, size_t from, size_t to) {       \
          const double down = aggi_pow2(-4 - aggi_exponent((double)b->keep));                      \
          size_t i, l;                                                                             \
          for (l = 0; l < b->width; l += sizeof(vec) / sizeof(double)) {                           \
              vec v, zero = {0}, scale = zero + down, one = zero + 1.0;                            \
              vec##_mask m;                                                                        \
              AGGI_LOAD(m, b->odd + l);                                                            \
              m = 0u - (m >> 63);                                                                  \
              scale = AGGI_SELECT(vec, m, scale, one);                                             \
              AGGI_STORE(b->scale + l, scale);                                                     \
              for (i = from; i < to; i++) {                                                        \
                  AGGI_LOAD(v, b->cols + i * AGGI_COLS + l);                                       \
                  v *= scale;                                                                      \
                  AGGI_STORE(b->cols + i * AGGI_COLS + l, v);                                      \
              }                                                                                    \
          }                                                                                        \
      }                                                                                            \
      attribute static void aggi_scale_up##suffix(aggi_block *b) {                                 \
          size_t l;                                                                                \
          for (l = 0; l < b->width; l += sizeof(vec) / sizeof(double)) {                           \
              vec v, scale, zero = {0}, one = zero + 1.0, most = zero + DBL_MAX;                   \
              vec##_mask m;                                                                        \
              AGGI_LOAD(v, b->out + l);                                                            \
              AGGI_LOAD(scale, b->scale + l);                                                      \
              v /= scale;                                                                          \
              m = AGGI_IS(vec, v > most);                                                          \
              v = AGGI_SELECT(vec, m, most, v);                                                    \
              m = AGGI_IS(vec, v < -most);                                                         \
              v = AGGI_SELECT(vec, m, -most, v);                                                   \
              AGGI_STORE(b->out + l, v);                                                           \
              AGGI_STORE(b->scale + l, one);                                                       \
          }                                                                                        \
      }
  AGGI_F64_TWINS(AGGI_SCALE_KERNEL)
#endif

/* clang-format on */

typedef struct aggi_window_job {
    const aggi_call *c;
    const agg_real *const *row; /* n */
    size_t n, keep;             /* rows, and how many values of a column are averaged */
    size_t from, to;            /* the places of a sorted column they are among */
    size_t edge;                /* see aggi_block */
    int closest;                /* AGGI_CLOSEST or AGGI_MIDDLE */
    size_t comparisons;         /* of the network */
} aggi_window_job;

/* c->inside += the tally of columns modulo AGGI_GROUP that are < lanes; starts it anew */
static void aggi_tally(const aggi_window_job *job, const aggi_block *b, size_t lanes,
                       uint64_t *inside) {
    const uint64_t *closest = (const uint64_t *)b->tally;
    const aggi_word *middle = (const aggi_word *)b->tally;
    size_t i, l;
    for (i = 0; i < b->n; i++) {
        for (l = 0; l < lanes; l++) {
            const size_t k = i * AGGI_GROUP + l;
            inside[i] += job->closest ? closest[k] : middle[k];
        }
    }
    memset(b->tally, 0, b->n * AGGI_GROUP * sizeof(uint64_t));
}

/* the block sorted, as far as it is needed; returns whether there is a NaN or Inf */
static int aggi_sort_block(const aggi_window_job *job, const aggi_block *b) {
    const aggi_call *c = job->c;
    size_t i;
    for (i = 0; i < b->n; i += AGGI_RUN)
        if (AGGI_TWIN(c->avx2, aggi_sort_run)(b, i, aggi_width(i, b->n, AGGI_RUN))) return 1;
    AGGI_TWIN(c->avx2, aggi_merge_runs)(b, c->columns.network, job->comparisons);
    return 0;
}

static int aggi_average(const aggi_window_job *job, aggi_block *b) {
    const int avx2 = job->c->avx2;
    return job->closest ? AGGI_TWIN(avx2, aggi_mean_of_closest)(b)
                        : AGGI_TWIN(avx2, aggi_mean_of_middle)(b, job->from, job->to);
}

/* b->out, and the tally */
static int aggi_window_block(const aggi_window_job *job, aggi_block *b) {
    const int avx2 = job->c->avx2;
    int found;
    if (aggi_sort_block(job, b)) return AGGI_NOT_FINITE;
    if (b->tally && !job->closest) AGGI_TWIN(avx2, aggi_count_middle)(b, job->from, job->to);
    found = aggi_average(job, b);
#ifdef AGG_DOUBLE
    if (found & AGGI_OVERFLOW) {
        AGGI_TWIN(avx2, aggi_scale_down)(b, job->from, job->to);
        found = aggi_average(job, b) | AGGI_OVERFLOW;
    }
#endif
    if (job->closest && (b->tally || (found & AGGI_TIE))) AGGI_TWIN(avx2, aggi_settle_closest)(b);
#ifdef AGG_DOUBLE
    if (found & AGGI_OVERFLOW) AGGI_TWIN(avx2, aggi_scale_up)(b);
#endif
    return AGG_OK;
}

/* Block b begins at column `at` of the rows; returns how many of their columns it takes. The last
   ones, fewer than AGGI_GROUP, are copied and filled up with zeros. */
static size_t aggi_place_block(const aggi_window_job *job, aggi_block *b, size_t at, size_t end) {
    const aggi_columns *g = &job->c->columns;
    const size_t width = aggi_width(at, end, AGGI_COLS);
    size_t i, l;
    b->row = job->row;
    b->at = at;
    b->ahead = at + 3 * AGGI_COLS <= aggi_end(job->c) ? 2 * AGGI_COLS : 0;
    b->width = width / AGGI_GROUP * AGGI_GROUP;
    if (b->width) return b->width;
    for (i = 0; i < b->n; i++) {
        agg_real *copy = g->rest + i * AGGI_GROUP;
        for (l = 0; l < AGGI_GROUP; l++) copy[l] = l < width ? job->row[i][at + l] : 0;
        g->rest_row[i] = copy;
    }
    b->row = g->rest_row;
    b->at = 0;
    b->width = AGGI_GROUP;
    return width;
}

static int aggi_window_slice(const aggi_window_job *job, aggi_block *b, size_t s,
                             uint64_t *inside) {
    const size_t end = aggi_slice_begin(job->c, s + 1);
    size_t at, width;
    for (at = aggi_slice_begin(job->c, s); at < end; at += width) {
        width = aggi_place_block(job, b, at, end);
        job->c->clean[s] = at;
        if (aggi_window_block(job, b)) return AGGI_NOT_FINITE;
        memcpy(job->c->out + at, b->out, width * sizeof *b->out);
        if (b->tally && ((at + width) % AGGI_CHUNK == 0 || end - (at + width) < AGGI_GROUP))
            aggi_tally(job, b, aggi_width(0, width, AGGI_GROUP), inside);
    }
    return AGG_OK;
}

static void aggi_window_run(void *arg, size_t s) {
    aggi_window_job *job = (aggi_window_job *)arg;
    const aggi_columns *g = &job->c->columns;
    uint64_t *inside = g->inside + s * g->n;
    aggi_block b;
    size_t l;
    b.n = job->n;
    b.keep = job->keep + 2 * job->edge;
    b.edge = job->edge;
    b.cols = g->block + s * g->n * AGGI_COLS;
    b.tally = job->c->report.weight ? g->tally + s * g->n * AGGI_GROUP : NULL;
    for (l = 0; l < AGGI_COLS; l++) b.scale[l] = 1;
    if (b.tally) {
        memset(b.tally, 0, b.n * AGGI_GROUP * sizeof *g->tally);
        if (!job->c->window.goes_on) memset(inside, 0, b.n * sizeof *inside);
    }
    job->c->status[s] = aggi_window_slice(job, &b, s, inside);
}

/* c->out = per column the mean of `keep` of the n values: the middle ones, or those closest to the
   median; the lowest and the highest of the middle ones count `edge` times more. c->weight = the
   shares of the rows, averaged over the columns, if they are reported; `edge` is left out there. */
static int aggi_window_with(const aggi_call *c, const agg_real *const *row, size_t n, size_t keep,
                            int closest, size_t edge) {
    const aggi_columns *g = &c->columns;
    const size_t trim = closest ? 0 : (n - keep) / 2, count = aggi_network(n, g->network);
    aggi_window_job job;
    size_t i, s;
    int status;
    job.c = c;
    job.row = row;
    job.n = n;
    job.keep = keep;
    job.from = trim;
    job.to = n - trim;
    job.edge = edge;
    job.closest = closest;
    job.comparisons = aggi_prune(g->network, count, n, job.from, job.to, g->read);
    status = aggi_run_leaving(c, aggi_window_run, &job, sizeof job, g->inside,
                              c->report.weight ? g->n * sizeof *g->inside : 0);
    if (status == AGG_OK) status = aggi_any(c);
    if (status) return status;
    for (i = 0; c->report.weight && i < n; i++) {
        uint64_t inside = 0;
        for (s = 0; s < c->slices; s++) inside += g->inside[s * g->n + i];
        c->weight[i] = (double)inside / (double)c->dim / (double)keep;
    }
    return AGG_OK;
}

static int aggi_window(const aggi_call *c, const agg_real *const *row, size_t n, size_t keep,
                       int closest) {
    return aggi_window_with(c, row, n, keep, closest, 0);
}

/* ---- 7 MDA ----------------------------------------------------------------------------------- */

/* A set has diameter <= r if no two of its rows are joined in the graph of pairs farther than r; so
   it is what a vertex cover of that graph leaves out. The least diameter is found by bisection over
   the distances that occur: each step asks aggi_find_cover() whether f rows cover the graph. */

/* open neighbours of row v */
static size_t aggi_degree(const aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w, sum = 0;
    for (w = 0; w < g->words; w++) sum += aggi_popcount(row[w] & g->open[w]);
    return sum;
}

/* counts the degrees and edges of the open rows anew */
static void aggi_count_edges(aggi_cover *g) {
    size_t v, sum = 0;
    for (v = 0; v < g->n; v++) {
        g->degree[v] = aggi_has(g->open, v) ? aggi_degree(g, v) : 0;
        sum += g->degree[v];
    }
    g->edges = sum / 2;
    g->work += g->n * g->words;
}

/* row v goes into the cover: its edges are no longer open */
static void aggi_cover_row(aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w;
    aggi_remove(g->open, v);
    aggi_insert(g->cover, v);
    g->left--;
    g->work += g->words + g->degree[v];
    for (w = 0; w < g->words; w++) {
        uint64_t u = row[w] & g->open[w];
        for (; u; u &= u - 1) g->degree[w * 64 + aggi_lowest(u)]--;
    }
    g->edges -= g->degree[v];
    g->degree[v] = 0;
}

static size_t aggi_first_neighbour(const aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w = 0;
    while (!(row[w] & g->open[w])) w++;
    return w * 64 + aggi_lowest(row[w] & g->open[w]);
}

/* v stays outside the cover, so its neighbours go in; 0: there are too many */
static int aggi_cover_neighbours(aggi_cover *g, size_t v) {
    while (g->degree[v]) {
        if (!g->left) return 0;
        aggi_cover_row(g, aggi_first_neighbour(g, v));
    }
    return 1;
}

/* One pass over the open rows. A row with more neighbours than may still be covered must be in the
   cover itself; of a row with one neighbour, that one may as well be. Returns 1 if a row was
   decided, 0 if none, -1 if there are too many; widest = the row of most neighbours. */
static int aggi_reduce_once(aggi_cover *g, size_t *widest) {
    size_t w, v;
    int decided = 0;
    *widest = g->n;
    g->work += g->n;
    for (w = 0; w < g->words; w++) {
        uint64_t u = g->open[w];
        for (; u; u &= u - 1) {
            v = w * 64 + aggi_lowest(u);
            if (g->degree[v] > g->left || g->degree[v] == 1) {
                if (!g->left) return -1;
                aggi_cover_row(g, g->degree[v] == 1 ? aggi_first_neighbour(g, v) : v);
                decided = 1;
            } else if (g->degree[v] && (*widest == g->n || g->degree[v] > g->degree[*widest])) {
                *widest = v;
            }
        }
    }
    return decided;
}

/* Decides what can be decided without loss. With no degree above 2 only cycles are left, where any
   row may start. Returns 0 if the rows left do not suffice. */
static int aggi_reduce(aggi_cover *g, size_t *widest) {
    while (g->edges) {
        const int decided = aggi_reduce_once(g, widest);
        if (decided < 0) return 0;
        if (decided) continue;
        if (g->degree[*widest] > 2) break;
        aggi_cover_row(g, *widest);
    }
    return 1;
}

/* Can the rows left, if they have the highest degrees, touch all edges? */
static int aggi_degree_bound(aggi_cover *g) {
    size_t d, v, left = g->left, sum = 0;
    memset(g->tally, 0, (g->n + 1) * sizeof *g->tally);
    g->work += 2 * g->n;
    for (v = 0; v < g->n; v++) g->tally[g->degree[v]]++;
    for (d = g->n; d-- > 1 && left;) {
        const size_t use = g->tally[d] < left ? g->tally[d] : left;
        sum += use * d;
        left -= use;
    }
    return sum >= g->edges;
}

/* Takes a clique around v out of g->rest, row after row. Returns its rows beside v; stops when
   there are more than `most`. */
static size_t aggi_take_clique(aggi_cover *g, size_t v, size_t most) {
    const size_t words = g->words;
    size_t x, y, u, count = 0;
    for (x = v / 64; x < words; x++) g->common[x] = g->edge[v * words + x] & g->rest[x];
    for (x = v / 64; x < words; x++) {
        while (g->common[x]) {
            u = x * 64 + aggi_lowest(g->common[x]);
            aggi_remove(g->rest, u);
            g->work += words - x;
            if (++count > most) return count;
            for (y = x; y < words; y++) g->common[y] &= g->edge[u * words + y];
        }
    }
    return count;
}

/* Disjoint cliques: a cover needs all rows of each but one. Do the rows left suffice? */
static int aggi_clique_bound(aggi_cover *g) {
    size_t w, need = 0;
    memcpy(g->rest, g->open, g->words * sizeof *g->rest);
    for (w = 0; w < g->words; w++) {
        while (g->rest[w]) {
            const size_t v = w * 64 + aggi_lowest(g->rest[w]);
            g->rest[w] &= g->rest[w] - 1;
            need += aggi_take_clique(g, v, g->left - need);
            g->work += g->words;
            if (need > g->left) return 0;
        }
    }
    return 1;
}

/* A branch of the search: what was open, covered and left. */
static uint64_t *aggi_branch(const aggi_cover *g, size_t depth) {
    return g->stack + depth * (2 * g->words + 1);
}

static void aggi_push(aggi_cover *g, size_t depth) {
    uint64_t *top = aggi_branch(g, depth);
    memcpy(top, g->open, g->words * sizeof *top);
    memcpy(top + g->words, g->cover, g->words * sizeof *top);
    top[2 * g->words] = (uint64_t)g->left;
}

static void aggi_pop(aggi_cover *g, size_t depth) {
    const uint64_t *top = aggi_branch(g, depth);
    memcpy(g->open, top, g->words * sizeof *top);
    memcpy(g->cover, top + g->words, g->words * sizeof *top);
    g->left = (size_t)top[2 * g->words];
    aggi_count_edges(g);
}

/* Back to the last branch: now its widest row stays out of the cover and its neighbours go in.
   There is room for them: aggi_reduce() leaves no row with more neighbours than may be covered.
   Returns 0 if there is no branch left. */
static int aggi_other_side(aggi_cover *g, size_t *depth) {
    size_t v, widest = 0;
    if (!*depth) return 0;
    aggi_pop(g, --*depth);
    for (v = 1; v < g->n; v++)
        if (g->degree[v] > g->degree[widest]) widest = v;
    return aggi_cover_neighbours(g, widest);
}

/* Depth first: the row of most neighbours goes into the cover, or else all its neighbours do. The
   stack has one branch for each row of the cover, at most f. Goes on from where g is. Returns 1:
   yes, g->cover is one; 0: there is none; -1: the budget ran out. */
static int aggi_find_cover(aggi_cover *g) {
    size_t depth = 0, widest = 0;
    for (;;) {
        int possible;
        if (g->work >= g->budget) return -1;
        g->nodes++;
        possible = aggi_reduce(g, &widest);
        if (possible && !g->edges) return 1;
        if (possible && aggi_degree_bound(g) && aggi_clique_bound(g)) {
            aggi_push(g, depth++);
            aggi_cover_row(g, widest);
        } else if (!aggi_other_side(g, &depth)) {
            return 0;
        }
    }
}

/* the graph of pairs farther than r (an entry of the matrix) */
static void aggi_far_graph(aggi_call *c, double r) {
    aggi_cover *g = &c->cover;
    size_t i, j, w;
    for (i = 0; i < g->n; i++) {
        const double *row = c->pairs.entry + i * g->n;
        g->full_degree[i] = 0;
        for (w = 0; w < g->words; w++) {
            const size_t end = aggi_width(w * 64, g->n, 64);
            uint64_t joined = 0;
            for (j = 0; j < end; j++) joined |= (uint64_t)(row[w * 64 + j] > r) << j;
            g->edge[i * g->words + w] = joined;
            g->full_degree[i] += aggi_popcount(joined);
        }
    }
}

/* every row open, none covered, f to cover */
static void aggi_cover_start(aggi_cover *g) {
    size_t i, sum = 0;
    memset(g->open, 0xff, g->words * sizeof *g->open);
    if (g->n % 64) g->open[g->words - 1] = ((uint64_t)1 << g->n % 64) - 1;
    memset(g->cover, 0, g->words * sizeof *g->cover);
    g->left = g->f;
    for (i = 0; i < g->n; i++) {
        g->degree[i] = g->full_degree[i];
        sum += g->degree[i];
    }
    g->edges = sum / 2;
}

/* Is there a set of n-f rows that has row i and all of g->taken, rows before i that go together?
   Returns as aggi_find_cover(); if yes, i is taken and g->outside is what that set leaves out. */
static int aggi_take_row(aggi_cover *g, size_t i) {
    size_t w;
    int found = 1;
    aggi_insert(g->taken, i);
    aggi_cover_start(g);
    for (w = 0; w < g->words; w++) {
        uint64_t u = g->taken[w];
        for (; u; u &= u - 1) { /* only the last, i itself, can fail */
            const size_t v = w * 64 + aggi_lowest(u);
            found = !aggi_has(g->cover, v) && aggi_cover_neighbours(g, v);
        }
    }
    if (found) found = aggi_find_cover(g);
    if (found > 0)
        memcpy(g->outside, g->cover, g->words * sizeof *g->outside);
    else
        aggi_remove(g->taken, i);
    return found;
}

/* The lexicographically first set: row after row is taken if a set with it and all rows taken
   before exists. The set that g->outside leaves proves it for its own rows, the others are asked
   for. Returns 0 if the budget ran out. */
static int aggi_first_set(aggi_cover *g) {
    size_t i, w, count = 0;
    memset(g->taken, 0, g->words * sizeof *g->taken);
    for (i = 0; i < g->n && count < g->n - g->f; i++) {
        const int found = aggi_has(g->outside, i) ? aggi_take_row(g, i) : 1;
        if (found < 0) return 0;
        if (!found) continue;
        aggi_insert(g->taken, i);
        count++;
    }
    for (w = 0; w < g->words; w++) g->outside[w] = ~g->taken[w];
    return 1;
}

/* largest entry among the rows of g->chosen */
static double aggi_diameter(const aggi_call *c, size_t count) {
    const size_t *chosen = c->cover.chosen;
    double most = 0;
    size_t i, j;
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++)
            most = aggi_max(most, c->pairs.entry[chosen[i] * c->n + chosen[j]]);
    return most;
}

static void aggi_cover_begin(aggi_call *c) {
    aggi_cover *g = &c->cover;
    g->n = c->n;
    g->f = c->f;
    g->words = AGGI_WORDS(c->n);
    g->nodes = 0;
    g->work = 0;
    g->budget = (aggi_budget(c->desc) - 1) / 8 + 1; /* branches and bits: a step is 8 operations */
}

/* Starts with the smallest ball of n-f rows as the best set. Its diameter is the first upper bound,
   which is returned, its radius a lower one. */
static double aggi_mda_ball(aggi_call *c, double *least) {
    aggi_cover *g = &c->cover;
    const size_t keep = c->n - c->f;
    size_t i;
    aggi_best_ball(c, keep, least);
    memset(g->outside, 0xff, g->words * sizeof *g->outside);
    for (i = 0; i < keep; i++) {
        g->chosen[i] = c->item[i].index;
        aggi_remove(g->outside, g->chosen[i]);
    }
    return aggi_diameter(c, keep);
}

/* g->radius = the distances in [least, most) that occur; returns how many */
static size_t aggi_mda_radii(aggi_call *c, double least, double most) {
    double *radius = c->cover.radius;
    size_t i, j, count = 0;
    for (i = 0; i < c->n; i++) {
        for (j = i + 1; j < c->n; j++) {
            const double r = c->pairs.entry[i * c->n + j];
            radius[count] = r;
            count += r >= least && r < most;
        }
    }
    return count;
}

/* A number above least, at most `most`, that between one and three quarters of the radii are below;
   if ties do not let it be, one that more are below. Bisection over the bits, which are in the
   order of the numbers. */
static double aggi_mda_middle(const aggi_call *c, size_t count, double least, double most) {
    uint64_t low = aggi_bits(least), high = aggi_bits(most);
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const double t = aggi_from_bits(middle);
        const size_t below = aggi_count_below(c->avx2, c->cover.radius, count, t);
        if (below >= count / 4 + 1 && below <= count - count / 4) return t;
        if (below < count / 4 + 1)
            low = middle;
        else
            high = middle;
    }
    return aggi_from_bits(high);
}

/* the largest of the radii below t */
static double aggi_mda_below(const double *radius, size_t count, double t) {
    double most = 0;
    size_t i;
    for (i = 0; i < count; i++)
        if (radius[i] < t) most = aggi_max(most, radius[i]);
    return most;
}

/* leaves the radii in [least, most) */
static size_t aggi_mda_narrow(double *radius, size_t count, double least, double most) {
    size_t i, left = 0;
    for (i = 0; i < count; i++) {
        const double r = radius[i];
        radius[left] = r;
        left += r >= least && r < most;
    }
    return left;
}

/* The least diameter is one of the radii, none of which is below `least`, or `most` if none will
   do. g->outside gets its set. */
static int aggi_mda_bisect(aggi_call *c, size_t count, double least, double *most) {
    aggi_cover *g = &c->cover;
    while (count) {
        const double t = aggi_mda_middle(c, count, least, *most);
        int found;
        aggi_far_graph(c, aggi_from_bits(aggi_bits(t) - 1)); /* joined: those t or more apart */
        aggi_cover_start(g);
        found = aggi_find_cover(g);
        if (found < 0) return AGG_INEXACT;
        if (found) {
            *most = aggi_mda_below(g->radius, count, t);
            memcpy(g->outside, g->cover, g->words * sizeof *g->outside);
        } else {
            least = t;
        }
        count = aggi_mda_narrow(g->radius, count, least, *most);
    }
    return AGG_OK;
}

static int aggi_mda(aggi_call *c) {
    aggi_cover *g = &c->cover;
    const size_t keep = c->n - c->f;
    double least, most, root;
    size_t i, count = 0;
    int status = aggi_find_pairs(c, 0);
    if (status) return status;
    aggi_cover_begin(c);
    most = aggi_mda_ball(c, &least);
    status = aggi_mda_bisect(c, aggi_mda_radii(c, least, most), least, &most);
    aggi_far_graph(c, most);
    if (status == AGG_OK && !aggi_first_set(g)) status = AGG_INEXACT;
    for (i = 0; i < c->n && count < keep; i++)
        if (!aggi_has(g->outside, i)) g->chosen[count++] = i;
    aggi_choose(c, g->chosen, keep);
    root = aggi_pair_root(&c->pairs, aggi_diameter(c, keep));
    c->report.diameter = aggi_min(root * root, DBL_MAX);
    c->report.nodes = g->nodes;
    return status;
}

/* ---- 8 CWTM, winsorised mean, MeaMed, CWMed, Krum, Multi-Krum -------------------------------- */

static int aggi_cwtm(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n - 2 * c->f, AGGI_MIDDLE);
}

/* A number beyond the window counts as the end of the window that it is beyond. */
static int aggi_winsor(aggi_call *c) {
    return aggi_window_with(c, c->x, c->n, c->n - 2 * c->f, AGGI_MIDDLE, c->f);
}

static int aggi_meamed(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n - c->f, AGGI_CLOSEST);
}

static int aggi_cwmed(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n % 2 ? 1 : 2, AGGI_MIDDLE);
}

/* A score is the sum of the least of a row's entries. It is kept in two parts, the sum and what
   rounding took from it, so that rows with the same distances in another order have the same score
   and the tie goes to the lower row. */
AGGI_INLINE void aggi_add_exactly(double *sum, double *rest, double v) {
    const double s = *sum + v, t = s - *sum;
    *rest += (*sum - (s - t)) + (v - t);
    *sum = s;
}

/* the largest of them */
AGGI_INLINE double aggi_largest_body(const double *entry, size_t n) {
    double lane[8] = {0};
    size_t j, l;
    for (j = 0; j + 8 <= n; j += 8)
        for (l = 0; l < 8; l++) lane[l] = entry[j + l] > lane[l] ? entry[j + l] : lane[l];
    for (; j < n; j++) lane[0] = aggi_max(lane[0], entry[j]);
    for (l = 1; l < 8; l++) lane[0] = aggi_max(lane[0], lane[l]);
    return lane[0];
}

/* the sum of those below t, in both parts, in 4 lanes */
AGGI_INLINE void aggi_add_body(const double *entry, size_t n, double t, double *sum, double *rest) {
    double lane[4] = {0}, left[4] = {0};
    size_t j, l;
    for (j = 0; j + 4 <= n; j += 4)
        for (l = 0; l < 4; l++)
            aggi_add_exactly(lane + l, left + l, entry[j + l] < t ? entry[j + l] : 0);
    for (l = 0; j + l < n; l++)
        aggi_add_exactly(lane + l, left + l, entry[j + l] < t ? entry[j + l] : 0);
    *sum = lane[0];
    *rest = (left[0] + left[1]) + (left[2] + left[3]);
    for (l = 1; l < 4; l++) aggi_add_exactly(sum, rest, lane[l]);
}

#define AGGI_LEAST_KERNEL(suffix, attribute, vec)                                                  \
    attribute static double aggi_largest##suffix(const double *entry, size_t n) {                  \
        return aggi_largest_body(entry, n);                                                        \
    }                                                                                              \
                                                                                                   \
    attribute static void aggi_add##suffix(const double *entry, size_t n, double t, double *sum,   \
                                           double *rest) {                                         \
        aggi_add_body(entry, n, t, sum, rest);                                                     \
    }
AGGI_TWINS(AGGI_LEAST_KERNEL, aggi_vec, aggi_wide)

/* A number that `keep` of the entries are below; if ties do not let it be, the largest that fewer
   are below, which is the next entry. Bisection over the bits: they are in the order of the
   numbers. Most entries of a row are about as large as the largest, so it starts there. */
static double aggi_split(const aggi_call *c, const double *entry, size_t keep) {
    const double most = AGGI_TWIN_OF_LANES(c->avx2, c->n, aggi_largest)(entry, c->n);
    uint64_t low = aggi_bits(0.25 * most), high = aggi_bits(most);
    if (keep == c->n) return aggi_infinity();
    if (aggi_count_below(c->avx2, entry, c->n, 0.25 * most) > keep) {
        high = low;
        low = 0;
    }
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        const size_t count = aggi_count_below(c->avx2, entry, c->n, aggi_from_bits(middle));
        if (count == keep) return aggi_from_bits(middle);
        if (count < keep)
            low = middle;
        else
            high = middle - 1;
    }
    return aggi_from_bits(low);
}

/* The entries are roots: the fourth root of the sum of the fourth powers of those below t, and of t
   so many times, in units of the largest. */
static double aggi_least_roots(const aggi_call *c, const double *entry, double t, size_t times) {
    double sum = (double)times, rest = 0, unit = times ? t : 0;
    size_t j;
    for (j = 0; j < c->n && !times; j++)
        if (entry[j] < t) unit = aggi_max(unit, entry[j]);
    for (j = 0; j < c->n && unit > 0; j++)
        if (entry[j] < t)
            aggi_add_exactly(&sum, &rest, aggi_pair_square(&c->pairs, entry[j], unit));
    return unit * aggi_root0(aggi_root0(sum + rest));
}

/* Sum of squared distances of row i to its nearest `neighbours` others. If the matrix has roots:
   the fourth root of that. Ties at the end of the sum count as often as needed. */
static double aggi_krum_score(const aggi_call *c, size_t i, size_t neighbours) {
    const double *entry = c->pairs.entry + i * c->n;
    const size_t keep = neighbours + 1; /* and its own, 0 */
    const double t = aggi_split(c, entry, keep);
    double sum = 0, rest = 0, power = t;
    size_t missing = keep - aggi_count_below(c->avx2, entry, c->n, t);
    if (c->pairs.roots) return aggi_least_roots(c, entry, t, missing);
    AGGI_TWIN_OF_LANES(c->avx2, c->n, aggi_add)(entry, c->n, t, &sum, &rest);
    for (; missing; missing /= 2, power *= 2)
        if (missing % 2) aggi_add_exactly(&sum, &rest, power);
    return sum + rest;
}

/* of so many candidates: candidates - f - 1, classic - f - 2 */
static size_t aggi_neighbours(const aggi_call *c, size_t candidates) {
    const size_t less = c->f + 1 + (c->desc->classic_krum ? 1 : 0);
    return candidates > less ? candidates - less : 0;
}

/* the q rows of least score */
static int aggi_best_scores(aggi_call *c, size_t q) {
    const size_t neighbours = aggi_neighbours(c, c->n);
    size_t i;
    const int status = aggi_find_pairs(c, 0);
    if (status) return status;
    for (i = 0; i < c->n; i++) c->pairs.score[i] = aggi_krum_score(c, i, neighbours);
    aggi_rank(c->item, c->pairs.score, c->n, c->n);
    aggi_choose_ranked(c, q);
    return AGG_OK;
}

static int aggi_krum(aggi_call *c) { return aggi_best_scores(c, 1); }

static int aggi_multi_krum(aggi_call *c) {
    const size_t most = c->n - c->f, q = aggi_or(c->desc->q, most);
    return aggi_best_scores(c, q < most ? q : most); /* fewer, where rows are late */
}

/* ---- 9 GM ------------------------------------------------------------------------------------ */

/* What is minimised. Let R be the radius of the smallest ball around a row, c, that holds a
   majority. Rows farther from c than AGGI_FAR R count by their direction u_j from there alone:
       V(z) = sum over near i of ||z - x_i||  -  F.(z - c),     F = sum over far j of u_j,
   which is what the sum over all rows becomes, but for a constant, as the far ones go to infinity.

   Why that keeps lambda = 1 + C, C = (n-f)/sqrt(n(n-2f)). Let G be n-f rows with mean mu and
   diameter D. They are a majority, so that R <= D: any one of them has the others within D.
   (1) No row of G is far. All are within D of mu. On the way from z to mu, at s D from it, s > 1,
   each row of G lowers V by at least sqrt(1 - 1/s^2) for a unit of way, each other one raises it by
   at most 1: V falls at the rate h(s) = (n-f) sqrt(1 - 1/s^2) - f or faster. h is increasing and
   concave, h(C) = 0. So if ||z - mu|| > (1 + C) D, then z is worse than the point at C D from mu by
   more than the integral of h from C to 1 + C, times D, which is at least R h(1+C)/2.
   (2) Some row of G is far, the farthest at A R. Two majorities meet: G has a row in the ball too,
   so D >= (A - 1) R, and ||z - mu|| <= ||z - c|| + A R <= 2 D <= (1 + C) D if ||z - c|| <= (A - 2)
   R. The same slope towards c shows that ||z - c|| <= (sqrt n + 2 excess) R: less than AGGI_FAR.
   So a point with a PROVEN excess V(z) - min V of at most R h(1+C)/2 is within lambda.
   (3) Where there is no such proof, let c' be the centre of the smallest ball of n-f rows, R' <= D
   its radius. It meets G, so ||c' - mu|| <= R' + D <= 2 D. A point at most (C - 1) R' from c' is
   within lambda as well: aggi_gm_retreat().

   The median lies in the affine hull of the rows and F, so everything but the result itself can be
   had from the squared distances of the near rows and their dots with F: for z as in aggi_gm_point,
       d_j^2 = q_j - w.q/2 + w_n^2 + 2 w_n (along.w - along_j),     q = square w.
   The solver works on w with these, n^2 a step. Then passes over the rows prove what the point is
   worth. R is the unit of all lengths. */

static double aggi_gm_c(double n, double f) {
    return aggi_root0((n - f) * (n - f) / (n * (n - 2 * f)));
}

/* h(1 + C)/2: an excess that implies lambda */
static double aggi_gm_most_excess(double n, double f) {
    const double s = 1 + aggi_gm_c(n, f);
    return ((n - f) * aggi_root0(1 - 1 / (s * s)) - f) / 2;
}

/* out = m v / unit */
AGGI_INLINE void aggi_gm_times_body(const double *AGGI_RESTRICT m, size_t n, double unit,
                                    const double *AGGI_RESTRICT v, double *AGGI_RESTRICT out) {
    size_t i;
    for (i = 0; i < n; i++, m += n) {
        double lane[8] = {0};
        AGGI_ADD_IN_LANES(lane, 8, n, k, m[k] * v[k]);
        out[i] = aggi_sum8(lane) / unit;
    }
}

#define AGGI_GM_TIMES_KERNEL(suffix, attribute, vec)                                               \
    attribute static void aggi_gm_times##suffix(const double *m, size_t n, double unit,            \
                                                const double *v, double *out) {                    \
        aggi_gm_times_body(m, n, unit, v, out);                                                    \
    }
AGGI_TWINS(AGGI_GM_TIMES_KERNEL, aggi_vec, aggi_wide)

/* out = square v */
static void aggi_gm_times(const aggi_gm *g, const double *v, double *out) {
    AGGI_TWIN_OF_LANES(g->avx2, g->n, aggi_gm_times)(g->square, g->n, g->unit, v, out);
}

static double aggi_dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* the distances of the rows from p; returns V */
static double aggi_gm_measure(const aggi_gm *g, const aggi_gm_point *p) {
    const double end = p->w[g->n], along = aggi_dot(g->along, p->w, g->n);
    const double level = end * end + 2 * end * along - aggi_dot(p->w, p->q, g->n) / 2;
    double value = -g->force * (along + end);
    size_t j;
    for (j = 0; j < g->n; j++) {
        p->d[j] = aggi_root0(p->q[j] + (level - 2 * end * g->along[j]));
        value += p->d[j];
    }
    return value;
}

/* to = at + by step; returns V there */
static double aggi_gm_try(const aggi_gm *g, double by) {
    size_t i;
    for (i = 0; i < g->n; i++) {
        g->to.w[i] = g->at.w[i] + by * g->step[i];
        g->to.q[i] = g->at.q[i] + by * g->q_step[i];
    }
    g->to.w[g->n] = g->at.w[g->n] + by * g->step[g->n];
    return aggi_gm_measure(g, &g->to);
}

/* the point tried becomes the point */
static void aggi_gm_accept(aggi_gm *g) {
    const aggi_gm_point old = g->at;
    g->at = g->to;
    g->to = old;
}

/* The proof. Vectors g_i that sum to 0, |g_i| <= 1 for near rows and g_j = u_j for far ones, show
       V(z) - min V  <=  sum over near i of d_i - g_i.(x_i - z).
   Let u_i = (x_i - z)/d_i and r = sum u. Rows close to z may have any g_i: each cancels a length of
   1 of r and costs 2 d_i. Of r there is a length `rest` left, and the others give it up: g_i =
   (1 - t_i) u_i + t_i v with t_i = t min(1, cap/d_i) and one |v| <= 1 for all. Let E = sum_i
   min(1, cap/d_i), where close rows count 1 and far ones 0. As |sum_i (t - t_i) u_i| <= t (n - E),
   there is such a v if rest <= t (2 E - n - rest), and it costs 2 t sum_i min(d_i, cap). A far row
   costs nothing, however far. cap = R + ||z - c|| reaches the whole ball, so that 2 E > n.
   r may also be an upper bound. */
static double aggi_gm_excess(const aggi_gm *g, const double *d, double r) {
    const double cap = 1 + d[g->center];
    double within = 0, close = 0, spent = 0, reach = 0, rest, t;
    size_t i;
    for (i = 0; i < g->n; i++) {
        if (g->inverse[i] > 0) {
            within += aggi_min(1, cap * g->inverse[i]);
            reach += aggi_min(cap, d[i]);
        } else {
            close += 1;
            spent += d[i];
        }
    }
    rest = aggi_max(0, r - close);
    t = rest / (2 * (within + close) - (double)g->all - rest);
    return t >= 0 && t <= 1 ? 2 * (spent + t * reach) : aggi_infinity();
}

/* The closest rows count as at z, as far as an eighth of what is wanted reaches. Returns the
   largest distance that is close. */
static double aggi_gm_close(const aggi_gm *g, const double *d) {
    double close = 0, spent = 0;
    size_t i, t;
    for (t = 0; t < g->n; t++) {
        double next = aggi_infinity(), count = 0;
        for (i = 0; i < g->n; i++)
            if (d[i] > close && d[i] < next) next = d[i];
        for (i = 0; i < g->n; i++) count += d[i] > close && d[i] <= next;
        spent += count * next;
        if (!(spent <= g->wanted / 8)) break;
        close = next;
    }
    return close;
}

/* returns the number of close rows */
static double aggi_gm_invert(const aggi_gm *g, const double *d, double close) {
    double count = 0;
    size_t i;
    for (i = 0; i < g->n; i++) {
        g->inverse[i] = d[i] > close ? 1 / d[i] : 0;
        count += !(d[i] > close);
    }
    g->inverse[g->n] = 0;
    return count;
}

/* b = the weights of sum_j a_j u_j + a_n F/|F|, which sum to 0 */
static void aggi_gm_span(const aggi_gm *g, const double *a, double *b) {
    const double sum = aggi_dot(a, g->inverse, g->n);
    size_t j;
    for (j = 0; j < g->n; j++) b[j] = a[j] * g->inverse[j] - sum * g->at.w[j];
    b[g->n] = a[g->n] - sum * g->at.w[g->n];
}

/* out_i = u_i.s, out_n = F.s/|F| for s = sum_j a_j u_j + a_n F/|F|; returns ||s||^2. mend is what
   u_i.u_i = 1 lacks, where the distances are better than the matrix. */
static double aggi_gm_apply(const aggi_gm *g, const double *a, double *out) {
    const size_t n = g->n;
    double *b = g->cg + 6 * (n + 1), *qb = g->cg + 7 * (n + 1), end, level;
    size_t i;
    aggi_gm_span(g, a, b);
    aggi_gm_times(g, b, qb);
    end = g->at.w[n];
    out[n] = aggi_dot(g->along, b, n);
    level =
        aggi_dot(g->at.w, qb, n) / 2 - end * out[n] - b[n] * (aggi_dot(g->along, g->at.w, n) + end);
    for (i = 0; i < n; i++)
        out[i] = g->inverse[i] * (level - qb[i] / 2 + b[n] * g->along[i]) + g->mend[i] * a[i];
    out[n] += b[n];
    return aggi_dot(a, out, n + 1);
}

/* r = sum_j u_j + F is minus the gradient; sets g->dot. Returns ||r||^2. */
static double aggi_gm_pull(const aggi_gm *g) {
    double *one = g->cg;
    size_t i;
    for (i = 0; i < g->n; i++) one[i] = g->inverse[i] > 0;
    one[g->n] = g->force;
    return aggi_gm_apply(g, one, g->dot);
}

/* The vectors of the conjugate gradients, in g->cg. */
typedef struct aggi_gm_cg {
    double *h, *v, *r, *s, *ms; /* n: see below */
    double *a;                  /* n + 1 */
} aggi_gm_cg;

static aggi_gm_cg aggi_gm_vectors(const aggi_gm *g) {
    const size_t m = g->n + 1;
    aggi_gm_cg k;
    k.a = g->cg;
    k.ms = g->cg + m;
    k.h = g->cg + 2 * m;
    k.v = g->cg + 3 * m;
    k.r = g->cg + 4 * m;
    k.s = g->cg + 5 * m;
    return k;
}

/* ms = (S - h C h) s; returns s.ms */
static double aggi_gm_matrix(const aggi_gm *g, const aggi_gm_cg *k, double sum) {
    double dot = 0;
    size_t i;
    for (i = 0; i < g->n; i++) k->a[i] = k->h[i] * k->s[i];
    k->a[g->n] = 0;
    (void)aggi_gm_apply(g, k->a, k->ms);
    for (i = 0; i < g->n; i++) {
        k->ms[i] = sum * k->s[i] - k->h[i] * k->ms[i];
        dot += k->s[i] * k->ms[i];
    }
    return dot;
}

/* v = (S - h C h)^-1 r; stops where Newton's own error is larger */
static void aggi_gm_conjugate(const aggi_gm *g, const aggi_gm_cg *k, double sum) {
    const size_t n = g->n;
    double rr = aggi_dot(k->r, k->r, n), next;
    const double enough = rr * aggi_max(1e-14, aggi_min(0.01, rr / (sum * (double)(n * n))));
    size_t i, t;
    memset(k->v, 0, n * sizeof *k->v);
    memcpy(k->s, k->r, n * sizeof *k->s);
    for (t = 0; t < 40 && rr > enough; t++, rr = next) {
        const double sms = aggi_gm_matrix(g, k, sum), by = rr / sms;
        if (!(sms > 1e-18 * sum * rr)) break; /* rows on a line: singular */
        for (i = 0; i < n; i++) {
            k->v[i] += by * k->s[i];
            k->r[i] -= by * k->ms[i];
        }
        next = aggi_dot(k->r, k->r, n);
        for (i = 0; i < n; i++) k->s[i] = k->r[i] + next / rr * k->s[i];
    }
}

/* Newton's step p: H p = r, H = sum_j (1 - u_j u_j^T)/d_j. With S = sum_j 1/d_j and c_i = u_i.p it
   is p = (r + sum_j u_j c_j/d_j)/S, where (S - C D) c = dot, C the cosines u_i.u_j, D the 1/d_j and
   dot_i = u_i.r. h = sqrt(D) makes the matrix symmetric: v = h c. Were v 0, it would be Weiszfeld's
   step. Sets g->step. */
static void aggi_gm_newton(const aggi_gm *g) {
    const double sum = aggi_sum(g->inverse, g->n);
    const aggi_gm_cg k = aggi_gm_vectors(g);
    size_t i;
    for (i = 0; i < g->n; i++) {
        k.h[i] = aggi_root0(g->inverse[i]);
        k.r[i] = k.h[i] * g->dot[i];
    }
    aggi_gm_conjugate(g, &k, sum);
    for (i = 0; i < g->n; i++) k.a[i] = ((g->inverse[i] > 0) + k.h[i] * k.v[i]) / sum;
    k.a[g->n] = g->force / sum;
    aggi_gm_span(g, k.a, g->step);
    aggi_gm_times(g, g->step, g->q_step);
}

/* step = the way to Weiszfeld's point, (sum_j x_j/d_j + F)/sum_j 1/d_j */
static void aggi_gm_weiszfeld(const aggi_gm *g) {
    const double sum = aggi_sum(g->inverse, g->n);
    size_t i;
    for (i = 0; i < g->n; i++) g->step[i] = g->inverse[i] / sum - g->at.w[i];
    g->step[g->n] = g->force / sum - g->at.w[g->n];
    aggi_gm_times(g, g->step, g->q_step);
}

/* p = a row */
static void aggi_gm_go_to(const aggi_gm *g, const aggi_gm_point *p, size_t row) {
    size_t j;
    for (j = 0; j < g->n; j++) {
        p->w[j] = j == row;
        p->q[j] = g->square[row * g->n + j] / g->unit;
        p->d[j] = aggi_root0(p->q[j]);
    }
    p->w[g->n] = 0;
}

/* Starts at the row of least value: if the optimum is at a row it is this one. Returns V. */
static double aggi_gm_best_row(const aggi_gm *g) {
    const size_t n = g->n;
    double *value = g->q_step;
    size_t i, j, best = 0;
    for (i = 0; i < n; i++) value[i] = -g->force * g->along[i];
    for (i = 0; i < n; i++) {
        for (j = i + 1; j < n; j++) {
            const double d = aggi_root0(g->square[i * n + j] / g->unit);
            value[i] += d;
            value[j] += d;
        }
        if (value[i] < value[best]) best = i;
    }
    aggi_gm_go_to(g, &g->at, best);
    return value[best];
}

/* Leaves that row, if it is not the optimum, towards Weiszfeld's point of the other rows; how far,
   the value decides, from Vardi and Zhang's step upwards. Other rows close to it count as at it:
   their 1/distance would keep every step short. Returns 0 if it is the optimum. */
static int aggi_gm_leave_row(aggi_gm *g, double *value) {
    const double here = aggi_gm_invert(g, g->at.d, aggi_gm_close(g, g->at.d));
    const double r = aggi_root0(aggi_gm_pull(g));
    double by, best, least = 0;
    size_t h;
    if (aggi_gm_excess(g, g->at.d, r) <= g->wanted / 4) return 0;
    aggi_gm_weiszfeld(g);
    for (h = 0, by = best = 1 - aggi_min(1, here / r); h < 64 && by < 64; h++, by *= 2) {
        const double v = aggi_gm_try(g, by);
        if (h && !(v < least)) continue;
        least = v;
        best = by;
    }
    *value = aggi_gm_try(g, best);
    aggi_gm_accept(g);
    return 1;
}

/* One step down: Newton's, halved until it gains, or else Weiszfeld's. Returns 0 if no step gains
   anything: the rest is rounding. */
static int aggi_gm_descend(aggi_gm *g, double *value) {
    double by, v = *value;
    size_t h;
    aggi_gm_newton(g);
    for (h = 0, by = 1; h < 12; h++, by *= 0.5) {
        v = aggi_gm_try(g, by);
        if (v < *value) break;
    }
    if (!(v < *value)) {
        aggi_gm_weiszfeld(g);
        v = aggi_gm_try(g, 1);
        if (!(v < *value)) return 0;
    }
    *value = v;
    aggi_gm_accept(g);
    return 1;
}

/* Minimises on distances alone; leaves the point in g->at. */
static void aggi_gm_solve(aggi_gm *g) {
    double value = aggi_gm_best_row(g);
    size_t t;
    memset(g->mend, 0, g->n * sizeof *g->mend);
    if (!aggi_gm_leave_row(g, &value)) return;
    for (t = 0; t < 100; t++) {
        const double close = aggi_gm_close(g, g->at.d);
        double r;
        (void)aggi_gm_invert(g, g->at.d, close);
        r = aggi_root0(aggi_gm_pull(g));
        if (aggi_gm_excess(g, g->at.d, r) <= g->wanted / 4) return;
        if (close > 0) { /* these count after all */
            (void)aggi_gm_invert(g, g->at.d, 0);
            (void)aggi_gm_pull(g);
        }
        if (!aggi_gm_descend(g, &value)) return;
    }
}

/* Passes over the rows. AGGI_GM_OFF is a number of y = x - c, scaled in double builds, where
   neither the difference of giants nor the square of a denormal fits. z is kept as z - c, scaled
   the same way: rows may differ in their last bits. */

/* clang-format off */

#ifdef AGG_DOUBLE
  #define AGGI_GM_OFF(x, c, k, s) (((x)[k] * (s)->before - (c)[k] * (s)->before) * (s)->after)
  #define AGGI_GM_SUM(c, z, s)    (((c) * (s)->before + (z) / (s)->after) / (s)->before)
#else
  #define AGGI_GM_OFF(x, c, k, s) ((double)(x)[k] - (c)[k])
  #define AGGI_GM_SUM(c, z, s)    ((c) + (z))
#endif

/* clang-format on */

/* rows of a block, four at most */
typedef struct aggi_gm_rows {
    const agg_real *x[4];
    double by[4];
    aggi_gm_scale scale;
} aggi_gm_rows;

/* acc += sum_i by_i y_i */
AGGI_INLINE void aggi_gm_add_body(const aggi_gm_rows *rows, const double *AGGI_RESTRICT c,
                                  size_t width, double *AGGI_RESTRICT acc) {
    const aggi_gm_scale scale = rows->scale, *s = &scale;
    const agg_real *AGGI_RESTRICT x0 = rows->x[0], *AGGI_RESTRICT x1 = rows->x[1];
    const agg_real *AGGI_RESTRICT x2 = rows->x[2], *AGGI_RESTRICT x3 = rows->x[3];
    const double w0 = rows->by[0], w1 = rows->by[1], w2 = rows->by[2], w3 = rows->by[3];
    size_t k;
    (void)s;
    for (k = 0; k < width; k++)
        acc[k] += (w0 * AGGI_GM_OFF(x0, c, k, s) + w1 * AGGI_GM_OFF(x1, c, k, s)) +
                  (w2 * AGGI_GM_OFF(x2, c, k, s) + w3 * AGGI_GM_OFF(x3, c, k, s));
}

/* ||x - z||^2; r += by (x - z) */
AGGI_INLINE double aggi_gm_fold_body(const agg_real *AGGI_RESTRICT x, const double *AGGI_RESTRICT c,
                                     const double *AGGI_RESTRICT z, size_t width,
                                     const aggi_gm_scale *s, double by, double *AGGI_RESTRICT r) {
    double lane[8] = {0};
    size_t at, k;
    (void)s;
    for (at = 0; at + 8 <= width; at += 8) {
        for (k = 0; k < 8; k++) {
            const double t = AGGI_GM_OFF(x, c, at + k, s) - z[at + k];
            lane[k] += t * t;
            r[at + k] += by * t;
        }
    }
    for (k = at; k < width; k++) {
        const double t = AGGI_GM_OFF(x, c, k, s) - z[k];
        lane[k - at] += t * t;
        r[k] += by * t;
    }
    return aggi_sum8(lane);
}

/* (x - z).v */
AGGI_INLINE double aggi_gm_dot_body(const agg_real *AGGI_RESTRICT x, const double *AGGI_RESTRICT c,
                                    const double *AGGI_RESTRICT z, size_t width,
                                    const aggi_gm_scale *s, const double *AGGI_RESTRICT v) {
    double lane[8] = {0};
    (void)s;
    AGGI_ADD_IN_LANES(lane, 8, width, k, (AGGI_GM_OFF(x, c, k, s) - z[k]) * v[k]);
    return aggi_sum8(lane);
}

AGGI_INLINE double aggi_gm_norm_body(const double *v, size_t width) {
    double lane[8] = {0};
    AGGI_ADD_IN_LANES(lane, 8, width, k, v[k] * v[k]);
    return aggi_sum8(lane);
}

/* out = c + z. Returns whether a sum of n terms of the size of c may have lost so much that some
   number is no more between those of the rows: always for doubles; floats are rounded to half as
   many bits in the end, which hides it unless c cancels. */
AGGI_INLINE int aggi_gm_out_body(const double *AGGI_RESTRICT c, const double *AGGI_RESTRICT z,
                                 size_t width, const aggi_gm_scale *s, double n,
                                 agg_real *AGGI_RESTRICT out) {
    uint64_t doubt = sizeof(agg_real) > sizeof(float) ? AGGI_SIGN : 0;
    double v[AGGI_BLOCK];
    size_t k;
    (void)s;
    for (k = 0; k < width; k++) {
        const double sum = AGGI_GM_SUM(c[k], z[k], s);
        const double below = sum < AGGI_REAL_MAX ? sum : AGGI_REAL_MAX;
        v[k] = below > -AGGI_REAL_MAX ? below : -AGGI_REAL_MAX;
    }
    for (k = 0; k < width; k++) out[k] = (agg_real)v[k];
    for (k = 0; k < width; k++) {
        const double size = aggi_from_bits(aggi_bits(v[k]) & ~AGGI_SIGN);
        const double base = aggi_from_bits(aggi_bits(c[k]) & ~AGGI_SIGN);
        doubt |= aggi_bits(size * 1048576.0 - n * base);
    }
    return doubt >> 63 != 0;
}

#define AGGI_GM_KERNELS(suffix, attribute, vec)                                                    \
    attribute static void aggi_gm_add##suffix(const aggi_gm_rows *rows, const double *c,           \
                                              size_t width, double *acc) {                         \
        aggi_gm_add_body(rows, c, width, acc);                                                     \
    }                                                                                              \
    attribute static double aggi_gm_fold##suffix(const agg_real *x, const double *c,               \
                                                 const double *z, size_t width,                    \
                                                 const aggi_gm_scale *s, double by, double *r) {   \
        return aggi_gm_fold_body(x, c, z, width, s, by, r);                                        \
    }                                                                                              \
    attribute static double aggi_gm_dot##suffix(const agg_real *x, const double *c,                \
                                                const double *z, size_t width,                     \
                                                const aggi_gm_scale *s, const double *v) {         \
        return aggi_gm_dot_body(x, c, z, width, s, v);                                             \
    }                                                                                              \
    attribute static int aggi_gm_out##suffix(const double *c, const double *z, size_t width,       \
                                             const aggi_gm_scale *s, double n, agg_real *out) {    \
        return aggi_gm_out_body(c, z, width, s, n, out);                                           \
    }                                                                                              \
    attribute static double aggi_gm_norm##suffix(const double *v, size_t width) {                  \
        return aggi_gm_norm_body(v, width);                                                        \
    }
AGGI_TWINS(AGGI_GM_KERNELS, aggi_vec, aggi_wide)

/* the scale for rows whose distance from the centre has this root */
static aggi_gm_scale aggi_gm_scale_of(double root) {
    aggi_gm_scale s;
    s.before = root > aggi_pow2(200) ? aggi_pow2(-600) : 1;
    s.after = root < aggi_pow2(-200) ? aggi_pow2(600) : 1;
    return s;
}

/* a length whose root is given, as a pass sees it */
static double aggi_gm_scaled(double root, const aggi_gm_scale *s) {
    return aggi_squared(root * aggi_root0(s->before * s->after));
}

/* What a pass needs of coordinates [at, at + width): c, F, z - c and r. */
typedef struct aggi_gm_block {
    size_t at, width;
    double c[AGGI_BLOCK], force[AGGI_BLOCK], z[AGGI_BLOCK], r[AGGI_BLOCK];
} aggi_gm_block;

/* acc += by y of the rows number i, i + 1 .. of g->row, four at most, that are before end */
static void aggi_gm_add(const aggi_call *c, const aggi_gm_block *b, size_t i, size_t end,
                        const double *by, double *acc) {
    const aggi_gm *g = &c->gm;
    aggi_gm_rows rows;
    size_t j;
    rows.scale = aggi_gm_scale_of(i < g->n ? g->root : g->away[i]);
    for (j = 0; j < 4; j++) {
        rows.x[j] = c->x[g->row[i + j < end ? i + j : i]] + b->at;
        rows.by[j] = i + j < end ? by[i + j] : 0;
    }
    AGGI_TWIN(c->avx2, aggi_gm_add)(&rows, b->c, b->width, acc);
}

/* c and F; far rows one by one where each has its scale */
static void aggi_gm_force_block(const aggi_call *c, aggi_gm_block *b) {
    const aggi_gm *g = &c->gm;
    const agg_real *x = c->x[g->row[g->center]] + b->at;
    const size_t most = sizeof(agg_real) > sizeof(float) ? 1 : 4;
    size_t i, k, m;
    for (k = 0; k < b->width; k++) {
        b->c[k] = (double)x[k];
        b->force[k] = 0;
    }
    for (i = g->n; i < g->all; i += m) {
        m = aggi_width(i, g->all, most);
        aggi_gm_add(c, b, i, i + m, g->factor, b->force);
    }
}

/* part: the n dots y_i.F, then ||F||^2 */
static void aggi_gm_force_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const aggi_gm *g = &c->gm;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *sum = c->part + s * (g->n + 1);
    aggi_gm_block b;
    size_t i;
    aggi_begin_sums(c, sum, g->n + 1);
    for (b.at = aggi_slice_begin(c, s); b.at < end; b.at += b.width) {
        b.width = aggi_width(b.at, end, AGGI_BLOCK);
        aggi_gm_force_block(c, &b);
        memset(b.z, 0, sizeof b.z);
        for (i = 0; i < g->n; i++)
            sum[i] += AGGI_TWIN_OF_LANES(c->avx2, b.width, aggi_gm_dot)(
                c->x[g->row[i]] + b.at, b.c, b.z, b.width, &g->scale, b.force);
        sum[g->n] += AGGI_TWIN_OF_LANES(c->avx2, b.width, aggi_gm_norm)(b.force, b.width);
    }
}

/* sets force and along */
static int aggi_gm_find_force(aggi_call *c) {
    aggi_gm *g = &c->gm;
    size_t i;
    int status;
    g->force = 0;
    memset(g->along, 0, g->n * sizeof *g->along);
    if (g->n == g->all) return AGG_OK;
    status = aggi_add_slices(c, aggi_gm_force_run, c, 0, g->n + 1);
    if (status) return status;
    g->force = aggi_root0(c->part[g->n]);
    for (i = 0; i < g->n && g->force > 0; i++) g->along[i] = c->part[i] / g->force / g->size;
    return AGG_OK;
}

/* c->weight of the rows: F is made of the far ones, as seen from the centre */
static void aggi_gm_weigh(aggi_call *c, const double *w, double end) {
    const aggi_gm *g = &c->gm;
    size_t i;
    for (i = 0; i < g->n; i++) c->weight[g->row[i]] = w[i];
    for (; i < g->all; i++) {
        const double share = end / aggi_ratio(g->away[i], g->root);
        c->weight[g->row[i]] = share;
        c->weight[g->row[g->center]] -= share;
    }
    c->total = 1;
}

/* Newton's weights can be negative where rows coincide or outnumber the coordinates. */
static int aggi_gm_is_hull(const aggi_call *c) {
    size_t i;
    for (i = 0; i < c->n; i++)
        if (c->weight[i] < 0) return 0;
    return 1;
}

/* Every number of the result is between those of the rows: going to the nearest such number brings
   it nearer to every row. */
static void aggi_gm_hull(const aggi_call *c, size_t at, size_t width) {
    agg_real low[AGGI_BLOCK], high[AGGI_BLOCK];
    size_t i, k;
    memcpy(low, c->x[0] + at, width * sizeof *low);
    memcpy(high, low, width * sizeof *high);
    for (i = 1; i < c->n; i++) {
        const agg_real *AGGI_RESTRICT x = c->x[i] + at;
        for (k = 0; k < width; k++) {
            low[k] = x[k] < low[k] ? x[k] : low[k];
            high[k] = x[k] > high[k] ? x[k] : high[k];
        }
    }
    for (k = 0; k < width; k++) {
        const agg_real v = c->out[at + k], most = v < high[k] ? v : high[k];
        c->out[at + k] = most > low[k] ? most : low[k];
    }
}

typedef struct aggi_gm_job {
    const aggi_call *c;
    const double *w; /* of the point */
    int dots;        /* are they wanted? */
    int hull;        /* no weight is negative */
} aggi_gm_job;

/* c, z, and r = F */
static void aggi_gm_point_block(const aggi_gm_job *job, aggi_gm_block *b) {
    const aggi_gm *g = &job->c->gm;
    const double end = g->force > 0 ? job->w[g->n] * g->size / g->force : 0;
    size_t i, k;
    aggi_gm_force_block(job->c, b);
    for (k = 0; k < b->width; k++) {
        b->r[k] = b->force[k];
        b->z[k] = end * b->force[k];
    }
    for (i = 0; i < g->n; i += 4) aggi_gm_add(job->c, b, i, g->n, job->w, b->z);
}

/* part: the squares of the n distances, ||r||^2, and the dots (x_i - z).r; c->out = z */
static void aggi_gm_prove_run(void *arg, size_t s) {
    const aggi_gm_job *job = (const aggi_gm_job *)arg;
    const aggi_call *c = job->c;
    const aggi_gm *g = &c->gm;
    const size_t n = g->n, end = aggi_slice_begin(c, s + 1);
    double *sum = c->part + s * (2 * n + 1);
    aggi_gm_block b;
    size_t i;
    aggi_begin_sums(c, sum, 2 * n + 1);
    for (b.at = aggi_slice_begin(c, s); b.at < end; b.at += b.width) {
        b.width = aggi_width(b.at, end, AGGI_BLOCK);
        aggi_gm_point_block(job, &b);
        for (i = 0; i < n; i++)
            sum[i] += AGGI_TWIN_OF_LANES(c->avx2, b.width, aggi_gm_fold)(
                c->x[g->row[i]] + b.at, b.c, b.z, b.width, &g->scale, g->factor[i], b.r);
        sum[n] += AGGI_TWIN_OF_LANES(c->avx2, b.width, aggi_gm_norm)(b.r, b.width);
        for (i = 0; i < n && job->dots; i++)
            sum[n + 1 + i] += AGGI_TWIN_OF_LANES(c->avx2, b.width, aggi_gm_dot)(
                c->x[g->row[i]] + b.at, b.c, b.z, b.width, &g->scale, b.r);
        if (AGGI_TWIN(c->avx2, aggi_gm_out)(b.c, b.z, b.width, &g->scale, (double)c->n,
                                            c->out + b.at) ||
            !job->hull)
            aggi_gm_hull(c, b.at, b.width);
    }
}

/* One pass: c->out and the true distances p->d of the point, and its excess. The directions are
   made with the distances that p->d held before, so their lengths are off by a little, which
   counts. dots: g->dot as well, and no row counts as close. (The rows are finite by now, and so are
   the sums.) */
static int aggi_gm_pass(aggi_call *c, const aggi_gm_point *p, int dots, double *excess) {
    aggi_gm *g = &c->gm;
    double r;
    aggi_gm_job job;
    size_t i;
    int status;
    job.c = c;
    job.w = p->w;
    job.dots = dots;
    aggi_gm_weigh(c, p->w, g->force > 0 ? p->w[g->n] / g->force : 0);
    job.hull = aggi_gm_is_hull(c);
    (void)aggi_gm_invert(g, p->d, dots ? 0 : aggi_gm_close(g, p->d));
    for (i = 0; i < g->n; i++) g->factor[i] = g->inverse[i] / g->size;
    status = aggi_add_slices(c, aggi_gm_prove_run, &job, sizeof job, 2 * g->n + 1);
    if (status) return status;
    r = aggi_root0(c->part[g->n]);
    for (i = 0; i < g->n; i++) {
        p->d[i] = aggi_root0(c->part[i]) / g->size;
        g->dot[i] = c->part[g->n + 1 + i] * g->factor[i];
        if (!(g->inverse[i] > 0)) continue;
        r += aggi_abs(p->d[i] * g->inverse[i] - 1);
        g->inverse[i] = 1 / p->d[i];
    }
    *excess = aggi_gm_excess(g, p->d, r);
    return AGG_OK;
}

/* The same; if it is not enough, once more with the distances found: where rows are close, or with
   patience. */
static int aggi_gm_prove(aggi_call *c, const aggi_gm_point *p, int patient, double *excess) {
    const int status = aggi_gm_pass(c, p, 0, excess);
    if (status || *excess <= c->gm.wanted) return status;
    return patient || aggi_gm_close(&c->gm, p->d) > 0 ? aggi_gm_pass(c, p, 0, excess) : AGG_OK;
}

/* step = Newton's, with the true distances and dots, and the angles that the matrix has */
static void aggi_gm_true_newton(aggi_gm *g) {
    aggi_gm_point seen = g->to;
    size_t i;
    aggi_gm_times(g, g->at.w, g->at.q);
    seen.w = g->at.w;
    seen.q = g->at.q;
    (void)aggi_gm_measure(g, &seen);
    for (i = 0; i < g->n; i++)
        g->mend[i] = g->inverse[i] > 0 ? 1 - aggi_squared(seen.d[i] * g->inverse[i]) : 0;
    aggi_gm_newton(g);
}

/* to = at + by step: the squares of the distances change from the true ones by what the matrix
   says, so that its error does not matter */
static void aggi_gm_true_try(const aggi_gm *g, double by) {
    size_t i;
    (void)aggi_gm_try(g, by);
    for (i = 0; i < g->n; i++)
        g->to.d[i] = aggi_root0(g->to.d[i] * g->to.d[i] + g->mend[i] * aggi_squared(g->at.d[i]));
}

static size_t aggi_gm_nearest(const aggi_gm *g) {
    size_t i, nearest = 0;
    for (i = 1; i < g->n; i++)
        if (g->at.d[i] < g->at.d[nearest]) nearest = i;
    return nearest;
}

/* Is g->to, which is proven to `excess`, better than `best`? Then it becomes the point. */
static int aggi_gm_is_better(aggi_gm *g, double excess, double *best) {
    if (!(excess < *best)) return 0;
    *best = excess;
    aggi_gm_accept(g);
    return 1;
}

/* A median at a row, or nearly, is hard to come by in steps. to = the row nearest to the point;
   returns what the matrix says about its excess. */
static double aggi_gm_try_row(aggi_gm *g) {
    const aggi_gm_point at = g->at;
    double excess;
    aggi_gm_go_to(g, &g->to, aggi_gm_nearest(g));
    g->at = g->to;
    (void)aggi_gm_invert(g, g->at.d, aggi_gm_close(g, g->at.d));
    excess = aggi_gm_excess(g, g->at.d, aggi_root0(aggi_gm_pull(g)));
    g->at = at;
    return excess;
}

/* A step from the point, of which a pass has the true gradient, so that its end is the optimum
   however rough the angles are; a quarter of it if it leads nowhere. *excess: what the last point
   tried is proven to be worth; *best and the point are the better one. */
static int aggi_gm_true_step(aggi_call *c, int exact, double *excess, double *best) {
    aggi_gm *g = &c->gm;
    double by = 1;
    size_t tries;
    int status = aggi_gm_pass(c, &g->at, 1, excess);
    if (status) return status;
    if (*excess <= g->wanted) {
        *best = *excess;
        return AGG_OK;
    }
    aggi_gm_true_newton(g);
    for (tries = 0; tries < 4; tries++, by /= 4) {
        aggi_gm_true_try(g, by);
        status = aggi_gm_prove(c, &g->to, exact, excess);
        if (status || aggi_gm_is_better(g, *excess, best)) break;
    }
    return status;
}

/* The row nearest to the point is tried, and then steps from the better of the two, as long as they
   gain much: creeping leads nowhere. */
static int aggi_gm_improve(aggi_call *c, int exact, double *excess, double *best) {
    const size_t steps = exact ? 16 : 4;
    const double much = exact ? 0.99 : 0.25;
    aggi_gm *g = &c->gm;
    size_t t;
    int status = AGG_OK;
    if (*best > g->wanted && (aggi_gm_try_row(g) < *best * much || exact)) {
        status = aggi_gm_prove(c, &g->to, exact, excess);
        if (status == AGG_OK) (void)aggi_gm_is_better(g, *excess, best);
    }
    for (t = 0; t < steps && status == AGG_OK && *best > g->wanted; t++) {
        const double before = *best;
        status = aggi_gm_true_step(c, exact, excess, best);
        if (!(*best < before * much)) break;
    }
    return status;
}

/* Proves the point, or a better one. Distances in double, after which there is nothing better, get
   more patience. */
static int aggi_gm_polish(aggi_call *c, int exact) {
    double best = 0, excess;
    int status = aggi_gm_prove(c, &c->gm.at, exact, &best);
    if (status) return status;
    excess = best;
    status = aggi_gm_improve(c, exact, &excess, &best);
    if (status == AGG_OK && !(excess <= best)) /* the last one tried was not better */
        status = aggi_gm_prove(c, &c->gm.at, exact, &best);
    if (status == AGG_OK) c->report.gap = best / (double)c->gm.all;
    return status;
}

/* near rows, far rows, and the scale of the passes */
static void aggi_gm_split(aggi_call *c, size_t center) {
    aggi_gm *g = &c->gm;
    const double *from = c->pairs.entry + center * c->n;
    size_t i, end = c->n;
    g->n = 0;
    g->scale = aggi_gm_scale_of(g->root);
    g->size = aggi_gm_scaled(g->root, &g->scale);
    for (i = c->n; i-- > 0;) {
        const double root = aggi_pair_root(&c->pairs, from[i]);
        if (aggi_ratio(root, g->root) <= AGGI_FAR) continue;
        g->row[--end] = i;
        g->away[end] = root;
    }
    for (i = 0; i < c->n; i++) {
        const double root = aggi_pair_root(&c->pairs, from[i]);
        if (!(aggi_ratio(root, g->root) <= AGGI_FAR)) continue;
        if (i == center) g->center = g->n;
        g->away[g->n] = root;
        g->row[g->n++] = i;
    }
    for (i = g->n; i < c->n; i++) {
        const aggi_gm_scale s = aggi_gm_scale_of(g->away[i]);
        g->factor[i] = 1 / aggi_gm_scaled(g->away[i], &s);
    }
}

/* the squares of the near rows, moved together at the front of the matrix */
static void aggi_gm_squares(aggi_call *c, double radius) {
    aggi_gm *g = &c->gm;
    double *to = c->pairs.entry;
    size_t i, j;
    g->square = to;
    g->unit = c->pairs.wide ? 1 : radius;
    if (!c->pairs.wide && g->n == g->all) return;
    for (i = 0; i < g->n; i++)
        for (j = 0; j < g->n; j++) {
            const double v = c->pairs.entry[g->row[i] * c->n + g->row[j]];
            *to++ = c->pairs.wide ? aggi_pair_square(&c->pairs, v, radius) : v;
        }
}

/* a majority coincides, and is the median */
static int aggi_gm_coincide(aggi_call *c, size_t center) {
    aggi_blend blend;
    c->report.gap = 0;
    aggi_choose(c, &center, 1);
    blend = aggi_result(c);
    return aggi_combine(c, &blend);
}

/* Are some rows so close and some so far, as the centre sees it, that the angles between them need
   distances in double? An angle is off by about 2^-22 times the ratio of the two distances. Many
   rows rather take a step or two. */
static int aggi_gm_is_rough(const aggi_gm *g) {
    double sum = 0, inverse = 0;
    size_t i;
    if (sizeof(agg_real) > sizeof(float) || g->all >= AGGI_GRAM) return 0;
    for (i = 0; i < g->n; i++) {
        const double away = aggi_ratio(g->away[i], g->root);
        sum += away;
        if (away > 0) inverse += 1 / away;
    }
    return sum > AGGI_SPREAD && inverse > AGGI_SPREAD;
}

/* Distances, solve, prove. */
static int aggi_gm_attempt(aggi_call *c, int exact) {
    aggi_gm *g = &c->gm;
    double radius;
    size_t center;
    int status = aggi_find_pairs(c, exact);
    if (status) return status;
    center = aggi_best_ball(c, c->n / 2 + 1, &radius);
    if (!(radius > 0)) return aggi_gm_coincide(c, center);
    g->all = c->n;
    g->avx2 = c->avx2;
    g->root = aggi_pair_root(&c->pairs, radius);
    aggi_gm_split(c, center);
    c->report.gap = aggi_infinity();
    if (!exact && aggi_gm_is_rough(g)) return AGG_OK;
    status = aggi_gm_find_force(c);
    if (status) return status;
    aggi_gm_squares(c, radius);
    aggi_gm_solve(g);
    return aggi_gm_polish(c, exact);
}

/* Weiszfeld's weights, which are 1/distance and name the same point. */
static void aggi_gm_shares(aggi_call *c) {
    const aggi_gm *g = &c->gm;
    double nearest = aggi_infinity(), sum = 0;
    size_t i;
    for (i = 0; i < g->n; i++) nearest = aggi_min(nearest, g->at.d[i]);
    for (i = 0; i < g->n; i++) g->to.d[i] = g->at.d[i] > nearest ? nearest / g->at.d[i] : 1;
    sum = aggi_sum(g->to.d, g->n);
    aggi_gm_weigh(c, g->to.d, nearest);
    c->total = sum;
}

/* z is moved towards the centre of the smallest ball of n-f rows: (3) above. *left: the share that
   is left of it. */
static int aggi_gm_retreat(aggi_call *c, size_t *center, double *left) {
    const aggi_gm *g = &c->gm;
    const double most = aggi_gm_c((double)c->n, (double)c->f) - 1;
    const size_t old = g->row[g->center];
    double radius, root, off;
    const int status = aggi_find_pairs(c, 1);
    if (status) return status;
    *center = aggi_best_ball(c, c->n - c->f, &radius);
    root = aggi_pair_root(&c->pairs, radius);
    off = g->at.d[g->center] * aggi_ratio(g->root, root) +
          aggi_ratio(aggi_pair_root(&c->pairs, c->pairs.entry[*center * c->n + old]), root);
    *left = off > most ? most / off : 1;
    return AGG_OK;
}

/* c->weight becomes that of left z + (1 - left) x_center */
static void aggi_gm_toward(aggi_call *c, size_t center, double left) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] *= left / c->total;
    c->weight[center] += 1 - left;
    c->total = 1;
}

static void aggi_gm_hull_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t end = aggi_slice_begin(c, s + 1);
    size_t at, width;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        aggi_gm_hull(c, at, width);
    }
}

/* Makes the result of a point, of which report.gap is proven. */
static int aggi_gm_finish(aggi_call *c) {
    const double most = aggi_gm_most_excess((double)c->n, (double)c->f) / (double)c->n;
    const int hull = aggi_gm_is_hull(c);
    double left = 1;
    size_t center = 0;
    if (!(c->report.gap <= most)) {
        aggi_blend blend;
        int status = aggi_gm_retreat(c, &center, &left);
        if (status) return status;
        aggi_gm_toward(c, center, left);
        blend = aggi_result(c);
        status = aggi_combine(c, &blend);
        if (status == AGG_OK) status = aggi_run(c, aggi_gm_hull_run, c, 0);
        if (status) return status;
    }
    if (!hull && c->report.weight) {
        aggi_gm_shares(c);
        aggi_gm_toward(c, center, left);
    }
    return c->report.gap <= aggi_min(aggi_gap(c->desc), most) ? AGG_OK : AGG_INEXACT;
}

/* What does not reach the goal is tried again with distances in double, which rows far away, few
   coordinates and rows close to the median need. */
static int aggi_geometric_median(aggi_call *c) {
    const double n = (double)c->n, most = aggi_gm_most_excess(n, (double)c->f);
    int status;
    c->gm.wanted = aggi_min(aggi_gap_sought(c->desc) * n, most);
    status = aggi_gm_attempt(c, 0);
    if (status == AGG_OK && c->report.gap * n > c->gm.wanted) status = aggi_gm_attempt(c, 1);
    return status == AGG_OK ? aggi_gm_finish(c) : status;
}

/* ---- 10 mean, Bulyan, CClip, CGE, MoNNA, and the peers of them ------------------------------- */

static int aggi_mean(aggi_call *c) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 1;
    c->total = (double)c->n;
    return AGG_OK;
}

/* a squared distance as the sum of row i counts it */
static double aggi_order_square(const aggi_call *c, size_t i, size_t j) {
    const double entry = c->pairs.entry[i * c->n + j];
    return c->pairs.roots ? aggi_pair_square(&c->pairs, entry, c->order.unit[i]) : entry;
}

/* adds up the `count` > 0 rows nearest to row i that are not picked yet */
static void aggi_order_sum(const aggi_call *c, size_t i, size_t count) {
    const aggi_order *o = &c->order;
    const uint32_t *nearest = o->nearest + i * c->n;
    size_t j, last = 0;
    for (j = 0; count; j++) {
        if (c->picked.taken[nearest[j]]) continue;
        last = j;
        count--;
    }
    o->last[i] = (uint32_t)last;
    o->unit[i] = c->pairs.entry[i * c->n + nearest[last]];
    o->sum[i] = o->rest[i] = 0;
    for (j = 0; j <= last && o->unit[i] > 0; j++)
        if (!c->picked.taken[nearest[j]])
            aggi_add_exactly(o->sum + i, o->rest + i, aggi_order_square(c, i, nearest[j]));
    o->peak[i] = o->sum[i];
}

/* Row p was picked: one neighbour less counts for row i, p itself or, if it is farther off, the
   farthest. When little is left of a sum it is added up anew, or rounding would be seen. */
static void aggi_order_drop(const aggi_call *c, size_t i, size_t p, size_t count) {
    const aggi_order *o = &c->order;
    const uint32_t *nearest = o->nearest + i * c->n;
    const double *entry = c->pairs.entry + i * c->n;
    const size_t end = nearest[o->last[i]];
    const int inside = entry[p] < entry[end] || (p <= end && entry[p] <= entry[end]);
    const size_t gone = inside ? p : end;
    aggi_add_exactly(o->sum + i, o->rest + i, -aggi_order_square(c, i, gone));
    if (gone == end) o->last[i]--;
    while (c->picked.taken[nearest[o->last[i]]]) o->last[i]--;
    if (o->sum[i] < o->peak[i] / 1048576) aggi_order_sum(c, i, count);
}

/* Krum's score among the rows that are not picked yet, as aggi_krum_score() has it */
static double aggi_order_score(const aggi_call *c, size_t i) {
    const double sum = c->order.sum[i] + c->order.rest[i];
    return c->pairs.roots ? c->order.unit[i] * aggi_root0(aggi_root0(sum)) : sum;
}

/* for every row, the others by distance, and the sum of the first */
static void aggi_order_begin(aggi_call *c, size_t count) {
    size_t i, j;
    for (i = 0; i < c->n; i++) {
        uint32_t *nearest = c->order.nearest + i * c->n;
        aggi_by_distance(c, i);
        for (j = 1; j < c->n; j++) nearest[j - 1] = (uint32_t)c->item[j].index;
        aggi_order_sum(c, i, count);
    }
}

/* the row of least score that is not picked yet; all scores are 0 if no neighbour counts */
static size_t aggi_bulyan_pick(const aggi_call *c, size_t count) {
    double best = 0;
    size_t i, pick = c->n;
    for (i = 0; i < c->n; i++) {
        double score;
        if (c->picked.taken[i]) continue;
        score = count ? aggi_order_score(c, i) : 0;
        if (pick < c->n && !(score < best)) continue;
        best = score;
        pick = i;
    }
    return pick;
}

/* row `pick` is picked; of the rows left so many neighbours count */
static void aggi_bulyan_remove(const aggi_call *c, size_t pick, size_t count) {
    size_t i;
    c->picked.taken[pick] = 1;
    for (i = 0; i < c->n && count; i++)
        if (!c->picked.taken[i]) aggi_order_drop(c, i, pick, count);
}

/* c->picked.taken: `theta` rows by Krum, again and again among the rows left */
static void aggi_bulyan_picks(aggi_call *c, size_t theta) {
    size_t t, count = aggi_neighbours(c, c->n);
    memset(c->picked.taken, 0, c->n * sizeof *c->picked.taken);
    aggi_order_begin(c, count);
    for (t = 0; t < theta; t++) {
        const size_t pick = aggi_bulyan_pick(c, count);
        count = aggi_neighbours(c, c->n - t - 1);
        aggi_bulyan_remove(c, pick, count);
    }
}

static int aggi_bulyan(aggi_call *c) {
    const size_t theta = c->n - 2 * c->f;
    int *taken = c->picked.taken, status = aggi_find_pairs(c, 0);
    size_t i, t;
    if (status) return status;
    aggi_bulyan_picks(c, theta);
    for (i = 0, t = 0; i < c->n; i++)
        if (taken[i]) c->picked.row[t++] = c->x[i];
    status = aggi_window(c, c->picked.row, theta, theta - 2 * c->f, AGGI_CLOSEST);
    if (status != AGG_OK) return status;
    for (i = c->n; c->report.weight && i-- > 0;) /* from the picked rows to all, in place */
        c->weight[i] = taken[i] ? c->weight[--t] : 0;
    return AGG_OK;
}

/* v = desc.start or the coordinate-wise median, which c->out becomes */
static int aggi_cclip_start(aggi_call *c, const agg_real **v) {
    const agg_real *start = c->desc->start;
    memset(c->weight, 0, c->n * sizeof *c->weight);
    *v = start ? start : c->out;
    if (!start) return aggi_cwmed(c);
    return c->window.stages || aggi_all_finite(start, c->dim) ? AGG_OK : AGG_ERR_ARG;
}

/* A step is v += mean_i (x_i - v) min(1, tau/||x_i - v||), that is v times what the rows' shares
   leave, plus the rows times their shares. From the roots of the distances in share[0 .. n-1] this
   makes the shares, and the terms. tau is a root; < 0: it is the median of ||x_i - v||. */
static void aggi_cclip_weigh(aggi_call *c, const agg_real *v, double *tau) {
    double *kept = c->picked.share, *share = kept + 1; /* of v, of the rows */
    aggi_blend blend;
    size_t i;
    if (*tau < 0) {
        aggi_rank(c->item, share, c->n, c->n);
        *tau = aggi_median_root(c->item, c->n);
    }
    *kept = 1;
    c->picked.row[0] = v;
    for (i = 0; i < c->n; i++) {
        share[i] = (share[i] <= *tau ? 1 : aggi_ratio(*tau, share[i])) / (double)c->n;
        *kept -= share[i];
        c->picked.row[i + 1] = c->x[i];
    }
    *kept = aggi_max(*kept, 0);
    for (i = 0; i < c->n; i++) c->weight[i] = c->weight[i] * *kept + share[i];
    blend.row = c->picked.row;
    blend.weight = c->picked.share;
    blend.n = c->n + 1;
    blend.total = 1;
    aggi_terms_of(&c->terms, &blend);
}

/* The step, and the squared distances from the new v while the rows are in the cache. */
static void aggi_cclip_run(void *arg, size_t s) {
    aggi_combine_job *job = (aggi_combine_job *)arg;
    const aggi_call *c = job->c;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *part = c->part + s * c->n;
    agg_real v[AGGI_BLOCK];
    size_t at, width, i;
    aggi_begin_sums(c, part, c->n);
    for (at = aggi_slice_begin(c, s); at < end && !c->status[s]; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        c->status[s] = aggi_terms_block(c->avx2, job->terms, at, width, v);
        memcpy(job->out + at, v, width * sizeof *v);
        for (i = 0; i < c->n; i++)
            part[i] = aggi_square_of(c, c->x[i] + at, v, width, c->kind[i], part[i]);
    }
}

/* from v to c->out */
static int aggi_cclip_step(aggi_call *c, const agg_real *v) {
    aggi_roots_job roots;
    aggi_combine_job job;
    int status = aggi_roots_from(&roots, c, c->x, c->n, v);
    if (status) return status;
    roots.center = c->out;
    job.c = c;
    job.terms = &c->terms;
    job.out = c->out;
    status = aggi_run_leaving(c, aggi_cclip_run, &job, sizeof job, c->part, c->n * sizeof *c->part);
    if (status == AGG_OK) status = aggi_any(c);
    return status ? status : aggi_roots_of_squares(&roots, c->picked.share + 1);
}

static int aggi_cclip(aggi_call *c) {
    const size_t iterations = aggi_or(c->desc->iterations, 3);
    double tau = c->desc->tau > 0 ? aggi_root0(c->desc->tau) : -1;
    const agg_real *v;
    size_t t;
    int status = aggi_cclip_start(c, &v);
    if (status == AGG_OK) status = aggi_find_roots(c, c->x, c->n, v, c->picked.share + 1);
    for (t = 1; t <= iterations && status == AGG_OK; t++) {
        aggi_cclip_weigh(c, v, &tau);
        status = t < iterations ? aggi_cclip_step(c, v) : aggi_add_up(c, &c->terms, c->out);
        v = c->out;
    }
    return status;
}

/* the n-f rows nearest to center (NULL: of least norm); row `first` whatever coincides with it */
static int aggi_nearest(aggi_call *c, const agg_real *center, size_t first) {
    const int status = aggi_find_roots(c, c->x, c->n, center, c->key);
    if (status) return status;
    aggi_rank(c->item, c->key, c->n, first);
    aggi_choose_ranked(c, c->n - c->f);
    return AGG_OK;
}

static int aggi_cge(aggi_call *c) { return aggi_nearest(c, NULL, c->n); }

static int aggi_monna(aggi_call *c) { return aggi_nearest(c, c->x[c->pivot], c->pivot); }

/* Aksel: the median, then the rows nearest to it */
static int aggi_aksel(aggi_call *c) {
    const int status = aggi_cwmed(c);
    return status ? status : aggi_nearest(c, c->out, c->n);
}

/* 2^-e twice makes a length whose root is given one in [1, 4); 1 for none */
static double aggi_unit_of(double root) { return root > 0 ? aggi_pow2(-aggi_exponent(root)) : 1; }

/* the length so made */
static double aggi_unit_length(double root) { return aggi_squared(root * aggi_unit_of(root)); }

/* FLTrust: what is known of the trusted row g, and the rows' shares in the end */
typedef struct aggi_trust_job {
    const aggi_call *c;
    const agg_real *g;
    double root;  /* of its norm */
    double *unit; /* n: of the rows, see aggi_unit_of() */
    double *by;   /* n: what a row so made is multiplied by, if it has a weight */
} aggi_trust_job;

/* part: x_i.g in 8 lanes, of rows made about 1 long */
static void aggi_trust_dots(void *arg, size_t s) {
    const aggi_trust_job *job = (const aggi_trust_job *)arg;
    const aggi_call *c = job->c;
    const size_t begin = aggi_slice_begin(c, s), width = aggi_slice_begin(c, s + 1) - begin;
    const agg_real *g = job->g + begin;
    const double u = aggi_unit_of(job->root);
    double *part = c->part + s * 8 * c->n;
    size_t i;
    aggi_begin_sums(c, part, 8 * c->n);
    for (i = 0; i < c->n; i++, part += 8) {
        const agg_real *x = c->x[i] + begin;
        const double v = job->unit[i];
        double lane[8];
        memcpy(lane, part, sizeof lane);
        AGGI_ADD_IN_LANES(lane, 8, width, k, ((double)x[k] * v * v) * ((double)g[k] * u * u));
        memcpy(part, lane, sizeof lane);
    }
}

/* c->weight = cosines, if they are above 0 */
static void aggi_trust_weigh(aggi_call *c) {
    size_t i, s;
    for (i = 0; i < c->n; i++) {
        double dot = 0;
        for (s = 0; s < c->slices; s++) dot += aggi_sum8(c->part + (s * c->n + i) * 8);
        c->weight[i] = dot > 0 ? dot / aggi_unit_length(c->key[i]) : 0;
    }
    c->total = aggi_sum(c->weight, c->n);
}

/* out = sum_i by_i (row i made about 1 long), as long as g is */
static void aggi_trust_add(void *arg, size_t s) {
    const aggi_trust_job *job = (const aggi_trust_job *)arg;
    const aggi_call *c = job->c;
    const double up = 1 / aggi_unit_of(job->root), length = aggi_unit_length(job->root);
    const size_t end = aggi_slice_begin(c, s + 1);
    double sum[AGGI_BLOCK];
    size_t at, width, i, k;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        memset(sum, 0, sizeof sum);
        for (i = 0; i < c->n; i++) {
            const agg_real *x = c->x[i] + at;
            const double v = job->unit[i], by = job->by[i];
            if (!(c->weight[i] > 0)) continue;
            for (k = 0; k < width; k++) sum[k] += (double)x[k] * v * v * by;
        }
        for (k = 0; k < width; k++)
            c->out[at + k] = (agg_real)aggi_clamp(sum[k] * length * up * up);
    }
}

/* what is known of g and of the rows, and the weights */
static int aggi_trust_begin(aggi_call *c, aggi_trust_job *job) {
    size_t i;
    int status = aggi_find_roots(c, c->x, c->n, NULL, c->key);
    if (status) return status;
    job->c = c;
    job->g = c->picked.row[0] = c->desc->trusted ? c->desc->trusted : c->x[c->pivot];
    job->unit = c->picked.share;
    job->by = c->key;
    for (i = 0; i < c->n; i++) job->unit[i] = aggi_unit_of(c->key[i]);
    status = aggi_find_roots(c, c->picked.row, 1, NULL, &job->root);
    if (status) return status;
    status =
        aggi_run_leaving(c, aggi_trust_dots, job, sizeof *job, c->part, 8 * c->n * sizeof *c->part);
    if (status == AGG_OK) aggi_trust_weigh(c);
    return status;
}

/* Lengths leave the range of doubles, so all rows are made about 1 long first, by a power of two.
   Nobody agrees with g: it is the result. */
static int aggi_fltrust(aggi_call *c) {
    aggi_trust_job job;
    size_t i;
    const int status = aggi_trust_begin(c, &job);
    if (status) return status;
    if (!(c->total > 0)) {
        c->total = 1;
        aggi_terms_begin(&c->terms, job.g, 1, 1);
        return aggi_add_up(c, &c->terms, c->out);
    }
    for (i = 0; i < c->n; i++)
        if (c->weight[i] > 0) job.by[i] = c->weight[i] / (c->total * aggi_unit_length(c->key[i]));
    return aggi_run(c, aggi_trust_add, &job, sizeof job);
}

/* SignGuard: how many numbers of rows that are taken are above, at and below 0 in coordinates
   [at, at + m), in units of the most that one has of them */
static void aggi_signs_count(const aggi_call *c, size_t at, size_t m) {
    double *feature = c->signs.feature, most[3] = {1, 1, 1};
    size_t i, k, part;
    for (i = 0; i < c->n; i++) {
        size_t above = 0, below = 0;
        for (k = at; k < at + m; k++) {
            above += c->x[i][k] > 0;
            below += c->x[i][k] < 0;
        }
        feature[3 * i] = (double)above;
        feature[3 * i + 1] = (double)(m - above - below);
        feature[3 * i + 2] = (double)below;
        for (part = 0; part < 3 && c->picked.taken[i]; part++)
            most[part] = aggi_max(most[part], feature[3 * i + part]);
    }
    for (i = 0; i < 3 * c->n; i++) feature[i] /= most[i % 3];
}

/* c->key = squared distances of the rows that are taken from row i; returns how many are within
   `reach` */
static size_t aggi_signs_around(const aggi_call *c, size_t i, double reach) {
    const double *a = c->signs.feature + 3 * i, *b = c->signs.feature;
    size_t j, m = 0, count = 0;
    for (j = 0; j < c->n; j++, b += 3) {
        if (!c->picked.taken[j]) continue;
        c->key[m] =
            aggi_squared(a[0] - b[0]) + aggi_squared(a[1] - b[1]) + aggi_squared(a[2] - b[2]);
        count += c->key[m++] <= reach;
    }
    return count;
}

/* The lower median, over the rows that are taken, of the radius of the ball around each that holds
   more than half of them: no minority can make it large. */
static double aggi_signs_reach(aggi_call *c) {
    size_t i, m = 0, count = 0;
    for (i = 0; i < c->n; i++) count += c->picked.taken[i] != 0;
    for (i = 0; i < c->n; i++) {
        if (!c->picked.taken[i]) continue;
        (void)aggi_signs_around(c, i, 0);
        aggi_rank(c->item, c->key, count, count);
        c->signs.reach[m++] = c->item[count / 2].key;
    }
    aggi_rank(c->item, c->signs.reach, count, count);
    return c->item[(count - 1) / 2].key;
}

/* of the rows that are taken those in the fullest ball around one of them stay so */
static void aggi_signs_cluster(aggi_call *c) {
    const double reach = aggi_signs_reach(c);
    size_t i, j, best = 0, most = 0;
    for (i = 0; i < c->n; i++) {
        const size_t count = c->picked.taken[i] ? aggi_signs_around(c, i, reach) : 0;
        if (count <= most) continue;
        most = count;
        best = i;
    }
    (void)aggi_signs_around(c, best, reach);
    for (i = 0, j = 0; i < c->n; i++)
        if (c->picked.taken[i]) c->picked.taken[i] = c->key[j++] <= reach;
}

/* out = the mean of the rows taken, those longer than the median shortened to it: what they lose is
   the share of a row of zeros, which c->out is */
static int aggi_signs_mean(aggi_call *c, const double *root, double median) {
    double *share = c->picked.share, count = 0;
    aggi_blend blend;
    size_t i;
    for (i = 0; i < c->n; i++) count += c->picked.taken[i] != 0;
    memset(c->out, 0, c->dim * sizeof *c->out);
    share[0] = 0;
    c->picked.row[0] = c->out;
    for (i = 0; i < c->n; i++) {
        const double part = root[i] > median ? aggi_ratio(median, root[i]) : 1;
        c->weight[i] = share[i + 1] = c->picked.taken[i] ? part / count : 0;
        share[0] += c->picked.taken[i] ? (1 - part) / count : 0;
        c->picked.row[i + 1] = c->x[i];
    }
    blend.row = c->picked.row;
    blend.weight = share;
    blend.n = c->n + 1;
    blend.total = 1;
    return aggi_combine(c, &blend);
}

static int aggi_signguard(aggi_call *c) {
    const size_t m = aggi_share_of(c->desc, 0.1);
    const agg_rng rng = c->desc->rng;
    double *root = c->signs.root, median, low, high;
    size_t i;
    (void)aggi_find_roots(c, c->x, c->n, NULL, root);
    aggi_rank(c->item, root, c->n, c->n);
    median = aggi_median_root(c->item, c->n);
    low = median * aggi_root0(0.1);
    high = median * aggi_root0(3);
    for (i = 0; i < c->n; i++) c->picked.taken[i] = root[i] >= low && root[i] <= high;
    aggi_signs_count(c, (size_t)(rng.next(rng.self) % (c->dim - m + 1)), m);
    aggi_signs_cluster(c);
    return aggi_signs_mean(c, root, median);
}

/* GAS: the coordinates are dealt out to the blocks in turn, in a random order */
static void aggi_deal_draw(const aggi_call *c) {
    const agg_rng rng = c->desc->rng;
    uint32_t *block = c->deal.block;
    size_t k;
    for (k = 0; k < c->dim; k++) block[k] = (uint32_t)(k % c->deal.blocks);
    for (k = c->dim; k-- > 1;) {
        const size_t j = (size_t)(rng.next(rng.self) % (k + 1));
        const uint32_t t = block[k];
        block[k] = block[j];
        block[j] = t;
    }
}

/* The sum over the blocks of row i's distance from the median c->out, as a root. Differences are in
   a unit of the row's own: all of them are small or not, before they are subtracted or after. */
static double aggi_deal_score(const aggi_call *c, size_t i, double root, double *sum) {
    const double unit = aggi_unit_of(root), before = root > 1 ? unit : 1, after = unit / before;
    const agg_real *x = c->x[i], *v = c->out;
    double score = 0;
    size_t k;
    memset(sum, 0, c->deal.blocks * sizeof *sum);
    for (k = 0; k < c->dim; k++) {
        const double off = (double)x[k] * before * before - (double)v[k] * before * before;
        sum[c->deal.block[k]] += aggi_squared(off * after * after);
    }
    for (k = 0; k < c->deal.blocks; k++) score += aggi_root0(sum[k]);
    return aggi_root0(score) / unit;
}

/* every row by one job, so that its sums have one order */
static void aggi_deal_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    size_t i;
    for (i = s; i < c->n; i += c->slices)
        c->key[i] = aggi_deal_score(c, i, c->key[i], c->deal.sum + s * c->deal.blocks);
}

static int aggi_gas(aggi_call *c) {
    aggi_deal_draw(c);
    (void)aggi_cwmed(c);
    (void)aggi_find_roots(c, c->x, c->n, c->out, c->key);
    (void)aggi_run(c, aggi_deal_run, c, 0);
    aggi_rank(c->item, c->key, c->n, c->n);
    aggi_choose_ranked(c, c->n - c->f);
    return AGG_OK;
}

/* vote += the sign of x; returns whether all numbers are finite */
static int aggi_vote_add(const aggi_call *c, const agg_real *x, size_t width, aggi_votes *vote) {
    const aggi_votes one = 1, none = 0;
    size_t k;
    for (k = 0; k < width; k++) vote[k] += (x[k] > 0 ? one : none) - (x[k] < 0 ? one : none);
    return AGGI_TWIN(c->avx2, aggi_scan_row)(x, width);
}

/* in how many numbers has x the sign that won? */
static size_t aggi_vote_agreed(const agg_real *x, const agg_real *won, size_t width) {
    const agg_real one = 1, none = 0;
    aggi_votes count = 0;
    size_t k;
    for (k = 0; k < width; k++) count += (x[k] > 0 ? one : x[k] < 0 ? -one : none) == won[k];
    return (size_t)count;
}

/* part: in how many numbers of the slice each row has the sign that won */
static void aggi_vote_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t end = aggi_slice_begin(c, s + 1);
    const agg_real one = 1, none = 0;
    aggi_votes vote[AGGI_BLOCK];
    double *agreed = c->part + s * c->n;
    size_t at, width, i, k;
    int finite = 1;
    aggi_begin_sums(c, agreed, c->n);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        memset(vote, 0, sizeof vote);
        for (i = 0; i < c->n; i++) finite &= aggi_vote_add(c, c->x[i] + at, width, vote);
        for (k = 0; k < width; k++) c->out[at + k] = vote[k] > 0 ? one : vote[k] < 0 ? -one : none;
        for (i = 0; i < c->n && c->report.weight; i++)
            agreed[i] += (double)aggi_vote_agreed(c->x[i] + at, c->out + at, width);
    }
    c->status[s] = finite ? AGG_OK : AGGI_NOT_FINITE;
}

static int aggi_sign_vote(aggi_call *c) {
    size_t i;
    const int status = aggi_add_slices(c, aggi_vote_run, c, 0, c->n);
    if (status) return status;
    c->total = aggi_sum(c->part, c->n);
    for (i = 0; i < c->n; i++) c->weight[i] = c->total > 0 ? c->part[i] : 1;
    if (!(c->total > 0)) c->total = (double)c->n;
    return aggi_any(c);
}

/* FedPG: c->picked.taken = the rows with more than half of all rows within a length whose root is
   given; returns whether there are any */
static int aggi_fedpg_dense(const aggi_call *c, double reach) {
    const double *entry = c->pairs.entry;
    size_t i, j;
    int any = 0;
    for (i = 0; i < c->n; i++, entry += c->n) {
        size_t count = 0;
        for (j = 0; j < c->n; j++) count += aggi_pair_root(&c->pairs, entry[j]) <= reach;
        c->picked.taken[i] = count > c->n / 2;
        any |= c->picked.taken[i];
    }
    return any;
}

/* The dense row nearest to the mean of the dense ones: the sum of its squared distances to them is
   the least, as sum_j ||x_i - x_j||^2 = m ||x_i - mean||^2 + what is the same for all i. */
static size_t aggi_fedpg_center(const aggi_call *c) {
    const double *entry = c->pairs.entry;
    const int *dense = c->picked.taken;
    double most = 0, least = 0, unit;
    size_t i, j, best = c->n;
    for (i = 0; i < c->n * c->n; i++)
        if (dense[i / c->n] && dense[i % c->n]) most = aggi_max(most, entry[i]);
    unit = most > 0 ? aggi_pow2(aggi_exponent(most)) : 1; /* so that a quotient is exact */
    for (i = 0; i < c->n; i++, entry += c->n) {
        double sum = 0, rest = 0;
        for (j = 0; j < c->n && dense[i]; j++)
            if (dense[j])
                aggi_add_exactly(&sum, &rest, aggi_pair_square(&c->pairs, entry[j], unit));
        if (!dense[i] || (best < c->n && !(sum + rest < least))) continue;
        least = sum + rest;
        best = i;
    }
    return best;
}

/* the rows within reach of that row become the result; returns how many there are */
static size_t aggi_fedpg_try(aggi_call *c, double reach) {
    const double *entry;
    size_t i, count = 0;
    if (!aggi_fedpg_dense(c, reach)) return 0;
    entry = c->pairs.entry + aggi_fedpg_center(c) * c->n;
    for (i = 0; i < c->n; i++) {
        c->weight[i] = aggi_pair_root(&c->pairs, entry[i]) <= reach;
        count += c->weight[i] > 0;
    }
    c->total = (double)count;
    return count;
}

/* Radius T = 2 sigma sqrt(V/B), V = 2 ln(2n/delta); then 2 sigma; then that of the smallest ball of
   n-f rows around one of them, whose centre is dense. Without sigma that is T. Lengths are roots.
   */
static int aggi_fedpg(aggi_call *c) {
    const agg_desc *d = c->desc;
    const double delta = d->delta > 0 ? d->delta : 0.6, batch = (double)aggi_or(d->batch, 16);
    const double V = 2 * aggi_log(2 * (double)c->n / delta);
    const double wider = aggi_root0(aggi_root0(batch / V)); /* root of 2 sigma / T */
    double ball, first;
    size_t good;
    const int status = aggi_find_pairs(c, 0);
    if (status) return status;
    (void)aggi_best_ball(c, c->n - c->f, &ball);
    ball = aggi_pair_root(&c->pairs, ball);
    first = d->sigma > 0 ? aggi_root0(d->sigma) * aggi_root0(2) / wider : ball;
    good = aggi_fedpg_try(c, first);
    if (good < c->n - c->f) good = aggi_fedpg_try(c, first * wider);
    if (!good) (void)aggi_fedpg_try(c, ball);
    return AGG_OK;
}

/* ---- 11 CAF, SMEA, DnC ----------------------------------------------------------------------- */

/* The directions of largest variance of m weighted rows are had from their squared distances S
   alone. With R = diag(sqrt(w_i)), W = sum_i w_i and mu the weighted mean, the covariance
   sum_i w_i (x_i - mu)(x_i - mu)^T / W has the top eigenvalue of the m x m matrix
       A = R K R / W,  K_ij = (x_i - mu).(x_j - mu),  K = -1/2 C S C^T,  C = I - 1 w^T / W,
   and with v its eigenvector K R v says how far each row is off along that direction, up to a
   factor. A is never made: A v costs one product with S. */

AGGI_INLINE double aggi_dot_body(const double *a, const double *b, size_t n) {
    double lane[8] = {0};
    AGGI_ADD_IN_LANES(lane, 8, n, k, a[k] * b[k]);
    return aggi_sum8(lane);
}

/* to += sum_j by_j (row j of a) */
AGGI_INLINE void aggi_add_rows_body(const double *AGGI_RESTRICT a, const double *by, size_t rows,
                                    size_t n, double *AGGI_RESTRICT to) {
    size_t i, j;
    for (j = 0; j + 4 <= rows; j += 4, a += 4 * n) {
        const double p = by[j], q = by[j + 1], r = by[j + 2], s = by[j + 3];
        for (i = 0; i < n; i++) {
            const double two = (to[i] + p * a[i]) + q * a[n + i];
            to[i] = (two + r * a[2 * n + i]) + s * a[3 * n + i];
        }
    }
    for (; j < rows; j++, a += n)
        for (i = 0; i < n; i++) to[i] += by[j] * a[i];
}

#define AGGI_SPECTRUM_KERNEL(suffix, attribute, vec)                                               \
    attribute static double aggi_dot##suffix(const double *a, const double *b, size_t n) {         \
        return aggi_dot_body(a, b, n);                                                             \
    }                                                                                              \
                                                                                                   \
    attribute static void aggi_add_rows##suffix(const double *a, const double *by, size_t rows,    \
                                                size_t n, double *to) {                            \
        aggi_add_rows_body(a, by, rows, n, to);                                                    \
    }
AGGI_TWINS(AGGI_SPECTRUM_KERNEL, aggi_vec, aggi_wide)

static double aggi_spectrum_dot(const aggi_spectrum *g, const double *a, const double *b) {
    return AGGI_TWIN_OF_LANES(g->avx2, g->m, aggi_dot)(a, b, g->m);
}

static void aggi_add_rows(const aggi_spectrum *g, const double *a, const double *by, size_t rows,
                          double *to) {
    AGGI_TWIN_OF_LANES(g->avx2, g->m, aggi_add_rows)(a, by, rows, g->m, to);
}

/* v becomes a unit vector; returns its length */
static double aggi_normalise(const aggi_spectrum *g, double *v) {
    const double norm = aggi_root0(aggi_spectrum_dot(g, v, v));
    size_t i;
    for (i = 0; i < g->m && norm > 0; i++) v[i] /= norm;
    return norm;
}

/* g->along = K R v, to = A v / trace */
static void aggi_spectrum_times(aggi_spectrum *g, const double *v, double *to) {
    const double *w = g->weight, *root = g->root;
    double *along = g->along, *u = g->lever, sum = 0, mean;
    size_t i;
    for (i = 0; i < g->m; i++) {
        u[i] = root[i] * v[i];
        sum += u[i];
    }
    for (i = 0; i < g->m; i++) {
        u[i] -= w[i] * (sum / g->total);
        along[i] = 0;
    }
    aggi_add_rows(g, g->square, u, g->m, along);
    mean = aggi_spectrum_dot(g, w, along) / g->total;
    for (i = 0; i < g->m; i++) {
        along[i] = -0.5 * (along[i] - mean);
        to[i] = root[i] * along[i] / g->total / g->trace;
    }
    g->work += g->m * g->m;
}

/* g->square = entries of the pairs of m rows */
static void aggi_spectrum_gather(aggi_call *c, const size_t *row, size_t m) {
    double *to = c->spectrum.square;
    size_t i, j;
    for (i = 0; i < m; i++) {
        const double *pair = c->pairs.entry + row[i] * c->n;
        for (j = 0; j < m; j++) *to++ = pair[row[j]];
    }
    c->spectrum.m = m;
    c->spectrum.work += m * m;
}

/* entries become squared distances, in units of one of them */
static void aggi_to_units(const aggi_pairs *p, double *entry, size_t count, double unit) {
    size_t i;
    for (i = 0; i < count; i++) entry[i] = aggi_pair_square(p, entry[i], unit);
}

/* what belongs to the weights: roots, sum and trace */
static void aggi_spectrum_weigh(aggi_spectrum *g) {
    size_t i;
    for (i = 0; i < g->m; i++) {
        g->root[i] = aggi_root0(g->weight[i]);
        g->along[i] = 0;
    }
    g->total = aggi_sum(g->weight, g->m);
    aggi_add_rows(g, g->square, g->weight, g->m, g->along);
    g->trace = 0.5 * aggi_spectrum_dot(g, g->weight, g->along) / g->total / g->total;
    g->work += g->m * g->m;
}

/* Where the iteration starts: signs and sizes from the bits of the matrix, so that nobody can
   prepare rows whose top eigenvector is orthogonal to it; if `warm`, only a little of that, and the
   vector of the matrix before. */
static void aggi_spectrum_start(aggi_spectrum *g, int warm) {
    uint64_t seed = 0;
    size_t i;
    for (i = 0; i < g->m; i++) seed = (seed ^ aggi_bits(g->along[i])) * 0x9e3779b97f4a7c15u;
    for (i = 0; i < g->m; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z = z >> 63 << 63 | (z ^ z >> 31) >> 12 | 0x3ff0000000000000u; /* +-[1, 2) */
        g->vector[i] = warm ? g->vector[i] + aggi_from_bits(z) / 64 : aggi_from_bits(z);
    }
    (void)aggi_normalise(g, g->vector);
}

/* v less what it has of the first `count` vectors of the basis */
static void aggi_spectrum_deflate(aggi_spectrum *g, size_t count, double *v) {
    size_t j;
    for (j = 0; j < count; j++) g->mixture[j] = -aggi_spectrum_dot(g, g->basis + j * g->m, v);
    aggi_add_rows(g, g->basis, g->mixture, count, v);
    g->work += 2 * count * g->m;
}

/* Lanczos: vector k of the basis times A, less what lies in the basis, is the next one. What is
   left of A there is tridiagonal: g->diagonal and, beside it, g->beside. */
static void aggi_lanczos_step(aggi_spectrum *g, size_t k) {
    double *v = g->basis + k * g->m, *next = v + g->m;
    aggi_spectrum_times(g, v, next);
    g->diagonal[k] = aggi_spectrum_dot(g, v, next);
    aggi_spectrum_deflate(g, k + 1, next);
    aggi_spectrum_deflate(g, k + 1, next); /* of rounding errors too: they may be much of it */
    g->beside[k] = aggi_normalise(g, next);
}

/* x I - T = L D L^T for the tridiagonal T of k steps, D in g->pivot: all of it above 0 if and only
   if x is above the eigenvalues t_i. Returns Laguerre's step towards the largest of them, which
   does not pass it and is long even if many are close together; -1: x is not above. With d, d', d''
   a pivot and its derivatives, sum_i 1/(x - t_i) = sum d'/d, and sum_i 1/(x - t_i)^2 =
   sum (d'/d)^2 - d''/d. */
static double aggi_ritz_step(aggi_spectrum *g, size_t k, double x) {
    const double n = (double)k;
    double first = 0, second = 0, sum = 0, squares = 0;
    size_t i;
    for (i = 0; i < k; i++) {
        const double b = i ? g->beside[i - 1] / g->pivot[i - 1] : 0;
        const double d = (x - g->diagonal[i]) - (i ? b * g->beside[i - 1] : 0);
        const double r = i ? first / g->pivot[i - 1] : 0;
        if (!(d > 0)) return -1;
        second = b * b * (second - 2 * r * first);
        first = 1 + b * b * first;
        sum += first / d;
        squares += (first / d) * (first / d) - second / d;
        g->pivot[i] = d;
    }
    return n / (sum + aggi_root0((n - 1) * (n * squares - sum * sum)));
}

/* The largest eigenvalue of T, from a bound on it down. Where rounding makes a step too long, most
   of it is made: the pivots must be those of a number above the eigenvalue. */
static double aggi_ritz_value(aggi_spectrum *g, size_t k) {
    double x = 1e-290, part = 1, step; /* not 0, so that there are pivots */
    size_t i;
    for (i = 0; i < k; i++) {
        const double left = i ? g->beside[i - 1] : 0, right = i + 1 < k ? g->beside[i] : 0;
        x = aggi_max(x, g->diagonal[i] + left + right);
    }
    x *= 1 + 1e-12;
    step = aggi_ritz_step(g, k, x);
    for (i = 0; i < 100 && step > 1e-14 * x; i++) {
        const double next = aggi_ritz_step(g, k, x - part * step);
        if (next > 0) x -= part * step;
        step = next > 0 ? next : step;
        part = next > 0 ? 1 : part < 1 ? 0.5 * part : 1 - 1.0 / 4096;
    }
    (void)aggi_ritz_step(g, k, x);
    return x - step;
}

/* Its eigenvector, by two steps of inverse iteration: all numbers are above 0, nothing cancels. */
static void aggi_ritz_vector(aggi_spectrum *g, size_t k) {
    double *s = g->mixture, sum, norm = 0;
    size_t i, round;
    for (i = 0; i < k; i++) s[i] = 1;
    for (round = 0; round < 2; round++) {
        for (i = 1; i < k; i++) s[i] += g->beside[i - 1] / g->pivot[i - 1] * s[i - 1];
        for (i = k; i-- > 0;)
            s[i] = (s[i] + (i + 1 < k ? g->beside[i] * s[i + 1] : 0)) / g->pivot[i];
        sum = aggi_sum(s, k);
        for (i = 0; i < k; i++) s[i] /= sum;
    }
    for (i = 0; i < k; i++) norm += s[i] * s[i];
    for (i = 0; i < k; i++) s[i] /= aggi_root0(norm);
}

/* Up to `most` steps from g->vector, which becomes the best vector they make; g->value is its
   eigenvalue, a lower bound of the largest. Ends when the residual ||A v - value v|| is within
   AGGI_RESIDUAL times the value: returns 1; or when the value is `enough`. */
static int aggi_lanczos(aggi_spectrum *g, size_t most, double enough) {
    size_t k = 0, i;
    int done = 0;
    memcpy(g->basis, g->vector, g->m * sizeof *g->basis);
    while (k < most && !done) {
        aggi_lanczos_step(g, k++);
        done = k == g->m || g->beside[k - 1] <= 1e-13; /* the basis is complete */
        if (!done && k < most && (k & (k - 1)) && k % 16) continue;
        g->value = aggi_ritz_value(g, k);
        aggi_ritz_vector(g, k);
        done |= g->beside[k - 1] * g->mixture[k - 1] <= AGGI_RESIDUAL * g->value;
        if (g->value * g->trace >= enough) break;
    }
    for (i = 0; i < g->m; i++) g->vector[i] = 0;
    aggi_add_rows(g, g->basis, g->mixture, k, g->vector);
    (void)aggi_normalise(g, g->vector);
    return done;
}

/* The largest eigenvalue of the covariance, g->vector and g->along belong to it. Of equal
   eigenvalues any vector of theirs will do, which one the start decides. If nearly equal ones are
   not told apart after AGGI_CYCLES times AGGI_KRYLOV steps, the vector mixes theirs. If `rough`,
   there are AGGI_ROUGH steps. g->settled: the residual is within AGGI_RESIDUAL. As soon as the
   value is known to be at least `enough`, such a value is returned; the bound is finite if there
   was a similar matrix before. */
static double aggi_top_eigen(aggi_spectrum *g, int rough, double enough) {
    const size_t steps = rough ? AGGI_ROUGH : AGGI_KRYLOV, most = g->m < steps ? g->m : steps;
    const size_t cycles = rough ? 1 : AGGI_CYCLES;
    size_t t;
    g->settled = 1;
    if (!(g->trace > 0)) return 0;
    aggi_spectrum_start(g, aggi_finite(enough));
    g->settled = 0;
    g->value = 0;
    for (t = 0; t < cycles && !g->settled && !(g->value * g->trace >= enough); t++)
        g->settled = aggi_lanczos(g, most, enough);
    aggi_spectrum_times(g, g->vector, g->basis);
    return g->value * g->trace;
}

/* Rows without weight leave the matrix; the largest entry among the others is the new unit. */
static void aggi_caf_fill(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    size_t i, m = 0;
    for (i = 0; i < g->m; i++) {
        if (!(g->weight[i] > 0)) continue;
        g->subset[m] = g->subset[i];
        g->weight[m++] = g->weight[i];
    }
    aggi_spectrum_gather(c, g->subset, m);
    g->unit = 0;
    for (i = 0; i < m * m; i++) g->unit = aggi_max(g->unit, g->square[i]);
    if (g->unit > 0) aggi_to_units(&c->pairs, g->square, m * m, g->unit);
    aggi_spectrum_weigh(g);
}

/* Root of the standard deviation along the direction where it is largest. The matrix is made anew
   when an eighth of its rows have lost their weight, or when those that have not are so close that
   their distances are about to underflow. */
static double aggi_caf_spread(aggi_call *c, int rough) {
    aggi_spectrum *g = &c->spectrum;
    double value;
    size_t i, live = 0;
    for (i = 0; i < g->m; i++) live += g->weight[i] > 0;
    aggi_spectrum_weigh(g);
    if (8 * live < 7 * g->m || g->trace < 1e-100) aggi_caf_fill(c);
    value = aggi_top_eigen(g, rough, aggi_infinity());
    return aggi_root0(aggi_root0(value)) * aggi_pair_root(&c->pairs, g->unit);
}

/* Lowers weights by the square of how far rows are off along that direction: the farthest row goes
   to 0. Returns the sum of the weights. */
static double aggi_caf_lower(aggi_spectrum *g) {
    double most = 0;
    size_t i;
    for (i = 0; i < g->m; i++)
        if (g->weight[i] > 0) most = aggi_max(most, aggi_abs(g->along[i]));
    for (i = 0; i < g->m; i++)
        if (g->weight[i] > 0) g->weight[i] *= 1 - aggi_ratio(g->along[i], most);
    return aggi_sum(g->weight, g->m);
}

/* the weights as they are become the result */
static void aggi_caf_keep(aggi_call *c, double total) {
    const aggi_spectrum *g = &c->spectrum;
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 0;
    for (i = 0; i < g->m; i++) c->weight[g->subset[i]] = g->weight[i];
    c->total = total;
}

static void aggi_spectrum_begin(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    size_t i;
    for (i = 0; i < c->n; i++) {
        g->weight[i] = 1;
        g->subset[i] = i;
    }
    g->m = c->n;
    g->work = 0;
    g->avx2 = c->avx2;
}

/* Every turn takes the weight of at least one row, so there are at most 2f + 1. */
static int aggi_caf(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    const uint64_t budget = aggi_budget(c->desc);
    double best = aggi_infinity(), total = (double)c->n;
    size_t turns = 0;
    int status = aggi_find_pairs(c, 0);
    if (status) return status;
    aggi_spectrum_begin(c);
    aggi_caf_fill(c);
    do {
        const int rough = g->work >= budget;
        const double spread = aggi_caf_spread(c, rough);
        if (spread < best) {
            best = spread;
            aggi_caf_keep(c, total);
        }
        if (!(spread > 0)) break;
        if (rough && !g->settled) status = AGG_INEXACT;
        total = aggi_caf_lower(g);
    } while (++turns < c->n && total > (double)(c->n - 2 * c->f));
    return status;
}

/* top eigenvalue of the covariance of the m rows, or a value between `enough` and it */
static double aggi_subset_spread(aggi_call *c, const size_t *row, size_t m, double enough) {
    aggi_spectrum_gather(c, row, m);
    aggi_spectrum_weigh(&c->spectrum);
    return aggi_top_eigen(&c->spectrum, 0, enough);
}

/* Is row i farther from one of the first `depth` of the subset than the bound allows? A scatter
   matrix, m times the covariance of m rows, only grows with more rows, and that of two has the top
   eigenvalue ||a - b||^2/2. */
static int aggi_smea_excludes(const aggi_call *c, size_t depth, size_t i, double bound) {
    const size_t *subset = c->spectrum.subset;
    const double *pair = c->pairs.entry + i * c->n, most = 2 * (double)c->spectrum.m * bound;
    size_t j;
    for (j = 0; j < depth; j++)
        if (pair[subset[j]] > most) return 1;
    return 0;
}

/* Subsets in lexicographic order, depth first; g->best is the best so far, at first the smallest
   ball. A subset must be better by more than rounding: ties go to the first. */
static int aggi_smea_search(aggi_call *c, size_t keep) {
    aggi_spectrum *g = &c->spectrum;
    const uint64_t budget = aggi_budget(c->desc);
    double bound = aggi_subset_spread(c, g->best, keep, aggi_infinity()) * (1 + 1e-9), spread;
    size_t depth = 0, next = 0;
    for (;;) {
        if (c->n - next < keep - depth) { /* too few rows left: back up */
            if (!depth) return AGG_OK;
            next = g->subset[--depth] + 1;
            continue;
        }
        if (g->work >= budget) return AGG_INEXACT;
        g->work += depth + 1;
        c->report.nodes++;
        if (aggi_smea_excludes(c, depth, next, bound)) {
            next++;
            continue;
        }
        g->subset[depth++] = next++;
        if (depth < keep) continue;
        spread = aggi_subset_spread(c, g->subset, keep, bound);
        if (spread < bound) {
            bound = spread * (1 - 1e-9);
            memcpy(g->best, g->subset, keep * sizeof *g->best);
        }
        next = g->subset[--depth] + 1;
    }
}

static int aggi_smea(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    const size_t keep = c->n - c->f;
    double radius;
    size_t i;
    int status = aggi_find_pairs(c, 0);
    if (status) return status;
    aggi_best_ball(c, keep, &radius);
    aggi_spectrum_begin(c);
    for (i = 0; i < keep; i++) g->best[i] = c->item[i].index;
    if (radius > 0) {
        aggi_to_units(&c->pairs, c->pairs.entry, c->n * c->n, radius);
        status = aggi_smea_search(c, keep);
    }
    aggi_choose(c, g->best, keep);
    return status;
}

/* DnC: m of the coordinates, each set of m as likely as any other (Knuth's algorithm S), from the
   lowest up, and what the rows have there */
static void aggi_excerpt_draw(const aggi_call *c) {
    const aggi_excerpt *g = &c->excerpt;
    const agg_rng rng = c->desc->rng;
    size_t i, k, got = 0;
    for (k = 0; got < g->m; k++)
        if (rng.next(rng.self) % (c->dim - k) < g->m - got) g->place[got++] = k;
    for (i = 0; i < c->n; i++) {
        agg_real *to = g->number + i * g->m;
        for (k = 0; k < g->m; k++) to[k] = c->x[i][g->place[k]];
        g->row[i] = to;
    }
}

/* c->pairs of the short rows */
static void aggi_excerpt_pairs(aggi_call *c) {
    const agg_real **x = c->x;
    const size_t dim = c->dim, slices = c->slices;
    c->x = c->excerpt.row;
    c->dim = c->excerpt.m;
    c->slices = aggi_slices(c->desc->n, c->dim);
    (void)aggi_find_pairs(c, 0);
    c->x = x;
    c->dim = dim;
    c->slices = slices;
}

/* The n-f rows that are off least along the direction of largest variance are kept, every time
   anew; the rows kept most often are the result: those of all times, if there are any. */
static int aggi_dnc(aggi_call *c) {
    const size_t times = aggi_or(c->desc->iterations, 5);
    double *kept = c->excerpt.kept, most = 0;
    size_t t, i;
    memset(kept, 0, c->n * sizeof *kept);
    for (t = 0; t < times; t++) {
        aggi_excerpt_draw(c);
        aggi_excerpt_pairs(c);
        aggi_spectrum_begin(c);
        aggi_caf_fill(c);
        (void)aggi_top_eigen(&c->spectrum, 0, aggi_infinity());
        for (i = 0; i < c->n; i++) c->key[i] = aggi_abs(c->spectrum.along[i]);
        aggi_rank(c->item, c->key, c->n, c->n);
        for (i = 0; i < c->n - c->f; i++) kept[c->item[i].index]++;
    }
    for (i = 0; i < c->n; i++) most = aggi_max(most, kept[i]);
    for (i = 0; i < c->n; i++) c->weight[i] = kept[i] >= most;
    c->total = aggi_sum(c->weight, c->n);
    return AGG_OK;
}

/* ---- 12 pre-aggregations --------------------------------------------------------------------- */

/* Each fills a mix, which makes new rows of the rows in play; all sets are empty at first. Returns
   AGGI_NOT_FINITE if it finds that a row is not finite. */

/* The bits of some t >= 0 with exactly k of the n numbers v <= t; if ties do not allow that, of the
   least with more. v has no negative number. */
static uint64_t aggi_threshold(const double *v, size_t n, size_t k) {
    uint64_t low = 0, high = AGGI_INF - 1;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const double t = aggi_from_bits(mid);
        size_t i, count = 0;
        for (i = 0; i < n; i++) count += v[i] <= t;
        if (count == k) return mid;
        if (count > k)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* set = the `keep` rows nearest to row i, itself first, then the lower ones; returns the
   farthest */
static double aggi_nearest_set(const aggi_call *c, size_t i, size_t keep, uint64_t *set) {
    const double *off = c->pairs.entry + i * c->n;
    const double t = aggi_from_bits(aggi_threshold(off, c->n, keep));
    double most = 0;
    size_t j, count = 1;
    aggi_insert(set, i);
    for (j = 0; j < c->n; j++) count += off[j] < t && j != i;
    for (j = 0; j < c->n; j++) {
        const int tied = off[j] == t && j != i && count < keep;
        if (!tied && !(off[j] < t)) continue;
        if (tied) count++;
        aggi_insert(set, j);
        most = aggi_max(most, off[j]);
    }
    return most;
}

/* A row whose nearest are all equal to it stays as it is. The base is the centre of the smallest
   ball of n - f rows. Such a ball has an honest row in it and is no larger than the honest rows'
   diameter, so that the base is within two diameters of every honest row. */
static int aggi_mix_nnm(aggi_call *c, aggi_mix *m) {
    const size_t keep = c->n - c->f, words = AGGI_WORDS(c->n);
    double least = aggi_infinity();
    size_t i;
    const int status = aggi_find_pairs(c, 0);
    if (status) return status;
    for (i = 0; i < c->n; i++) {
        const double radius = aggi_nearest_set(c, i, keep, m->member + i * words);
        m->factor[i] = 1 / (double)keep;
        m->kept[i] = !(radius > 0);
        if (radius < least) m->base = c->x[i];
        least = aggi_min(least, radius);
    }
    return AGG_OK;
}

/* Fisher-Yates, then groups of neighbours */
static int aggi_mix_bucketing(aggi_call *c, aggi_mix *m) {
    const agg_rng rng = c->desc->rng;
    const size_t size = aggi_bucket(c->desc), pivot = c->pivot, words = AGGI_WORDS(c->n);
    size_t i;
    for (i = 0; i < c->n; i++) c->item[i].index = i;
    for (i = c->n; i-- > 1;) {
        const size_t j = (size_t)(rng.next(rng.self) % (i + 1)), t = c->item[i].index;
        c->item[i].index = c->item[j].index;
        c->item[j].index = t;
    }
    for (i = 0; i < c->n; i++) {
        aggi_insert(m->member + i / size * words, c->item[i].index);
        m->factor[i / size] = 1 / (double)(i % size + 1);
        if (c->item[i].index == pivot) c->pivot = i / size;
    }
    return AGG_OK;
}

/* c->key has the roots of the norms; rows longer than most^2 are shortened to that */
static void aggi_shorten(const aggi_call *c, aggi_mix *m, double most) {
    size_t i;
    for (i = 0; i < c->n; i++) {
        const int longer = c->key[i] > most;
        aggi_insert(m->member + i * AGGI_WORDS(c->n), i);
        m->factor[i] = longer ? aggi_ratio(most, c->key[i]) : 1;
        m->kept[i] = !longer;
    }
}

static int aggi_mix_clip(aggi_call *c, aggi_mix *m) {
    const int status = aggi_find_roots(c, c->x, c->n, NULL, c->key);
    if (status == AGG_OK) aggi_shorten(c, m, aggi_root0(c->desc->clip));
    return status;
}

static int aggi_mix_clip_median(aggi_call *c, aggi_mix *m) {
    const int status = aggi_find_roots(c, c->x, c->n, NULL, c->key);
    if (status) return status;
    aggi_rank(c->item, c->key, c->n, c->n);
    aggi_shorten(c, m, aggi_median_root(c->item, c->n));
    return AGG_OK;
}

/* floor(2 f (n-f) / n) rows are clipped, to the norm of the next */
static int aggi_mix_arc(aggi_call *c, aggi_mix *m) {
    const double f = (double)c->f, n = (double)c->n;
    const size_t clipped = (size_t)(2 * f * (n - f) / n);
    const int status = aggi_find_roots(c, c->x, c->n, NULL, c->key);
    if (status) return status;
    aggi_rank(c->item, c->key, c->n, c->n);
    aggi_shorten(c, m, c->item[c->n - clipped - 1].key);
    return AGG_OK;
}

/* New rows of few old ones each: one after the other. */
static int aggi_mix_few(aggi_call *c, const aggi_mix *m, size_t j) {
    const uint64_t *set = m->member + j * AGGI_WORDS(m->n_in);
    size_t i, first = 0, count = 0;
    for (i = 0; i < m->n_in; i++) count += (size_t)aggi_has(set, i);
    while (!aggi_has(set, first)) first++;
    aggi_terms_begin(&c->terms, c->x[first], count == 1 ? m->factor[j] : 1, m->factor[j]);
    for (i = first + 1; i < m->n_in; i++)
        if (aggi_has(set, i)) aggi_terms_add(&c->terms, c->x[i], 1);
    return aggi_add_up(c, &c->terms, m->row + j * c->stride);
}

/* New rows of many old ones each, many at once. For each group of four rows the sums of all its
   subsets are made, a table of 16; then a new row needs one addition for each group instead of one
   for each row. A table has AGGI_LINE coordinates, one cache line. A new row is base + factor
   times the sum of the rows minus base, in agg_real; with u its rounding unit the error is at most
   u |result| + (AGGI_TABLES + n / (4 AGGI_TABLES) + 4) u mean_i |x_i - base|.
   The strip first: coordinates [at, at + width) of all rows in one piece, zeros behind them. */
AGGI_INLINE void aggi_fill_strip_body(const aggi_call *c, size_t at, size_t width, agg_real shrink,
                                      agg_real *AGGI_RESTRICT strip) {
    const agg_real *AGGI_RESTRICT base = c->mixer.base + at;
    const size_t stride = c->mixer.stride;
    size_t i, k;
    memset(strip + c->n * stride, 0, (c->mixer.groups * AGGI_FOUR - c->n) * stride * sizeof *strip);
    for (i = 0; i < c->n; i++, strip += stride) {
        const agg_real *AGGI_RESTRICT x = c->x[i] + at;
        for (k = 0; k < width; k++) strip[k] = x[k] * shrink - base[k] * shrink;
        for (; k < stride; k++) strip[k] = 0;
    }
}

/* to = base + factor sum, and what tells whether all are finite: alarm += to */
AGGI_INLINE void aggi_finish_row_body(const agg_real *AGGI_RESTRICT sum,
                                      const agg_real *AGGI_RESTRICT base, agg_real factor,
                                      size_t width, agg_real *AGGI_RESTRICT to,
                                      agg_real *AGGI_RESTRICT alarm) {
    size_t k;
    for (k = 0; k < width; k++) {
        to[k] = base[k] + sum[k] * factor;
        alarm[k] += to[k];
    }
}

/* clang-format off */

/* the sums of s and each subset of a and b, in the order of their bits */
#define AGGI_FOUR_SUBSETS(t, s)                                                                    \
    v = s;                                                                                         \
    AGGI_STORE(t, v);                                                                              \
    v = s + a;                                                                                     \
    AGGI_STORE(t + AGGI_LINE, v);                                                                  \
    v = s + b;                                                                                     \
    AGGI_STORE(t + 2 * AGGI_LINE, v);                                                              \
    v = s + (a + b);                                                                               \
    AGGI_STORE(t + 3 * AGGI_LINE, v);

/* new row p of four: its sum, of the first and the second half of a line */
#define AGGI_SUBSET_ZERO(p, vec, t, o) vec s##p = {0}, z##p = {0};
#define AGGI_SUBSET_ADD(p, vec, t, o)                                                              \
    AGGI_LOAD(v, t + o[p]);                                                                        \
    s##p += v;                                                                                     \
    AGGI_LOAD(v, t + o[p] + step);                                                                 \
    z##p += v;
#define AGGI_SUBSET_STORE(p, vec, to, o)                                                           \
    AGGI_ADD_TO(vec, to + p * stride, s##p);                                                       \
    AGGI_ADD_TO(vec, to + p * stride + step, z##p);

/* the bits of a subset are those of its place in the table */
#define AGGI_MIX_KERNELS(suffix, attribute, vec)                                                   \
    attribute static void aggi_fill_strip##suffix(const aggi_call *c, size_t at, size_t width,     \
                                                  agg_real shrink, agg_real *strip) {              \
        aggi_fill_strip_body(c, at, width, shrink, strip);                                         \
    }                                                                                              \
    attribute static void aggi_finish_row##suffix(const agg_real *sum, const agg_real *base,       \
                                                  agg_real factor, size_t width, agg_real *to,     \
                                                  agg_real *alarm) {                               \
        aggi_finish_row_body(sum, base, factor, width, to, alarm);                                 \
    }                                                                                              \
    attribute static void aggi_sum_subsets##suffix(const agg_real *x, size_t stride,               \
                                                   agg_real *table) {                              \
        const vec none = {0};                                                                      \
        size_t k;                                                                                  \
        for (k = 0; k < AGGI_LINE; k += sizeof(vec) / sizeof *x) {                                 \
            agg_real *t = table + k;                                                               \
            vec a, b, c, d, v;                                                                     \
            AGGI_LOAD(a, x + k);                                                                   \
            AGGI_LOAD(b, x + stride + k);                                                          \
            AGGI_LOAD(c, x + 2 * stride + k);                                                      \
            AGGI_LOAD(d, x + 3 * stride + k);                                                      \
            AGGI_FOUR_SUBSETS(t, none)                                                             \
            AGGI_FOUR_SUBSETS(t + 4 * AGGI_LINE, c)                                                \
            AGGI_FOUR_SUBSETS(t + 8 * AGGI_LINE, d)                                                \
            c += d;                                                                                \
            AGGI_FOUR_SUBSETS(t + 12 * AGGI_LINE, c)                                               \
        }                                                                                          \
    }                                                                                              \
    attribute static void aggi_add_subsets##suffix(const agg_real *table,                          \
                                                   const unsigned char *offset, size_t groups,     \
                                                   size_t stride, agg_real *sum) {                 \
        const size_t step = sizeof(vec) / sizeof(agg_real);                                        \
        size_t g, k;                                                                               \
        for (k = 0; k < AGGI_LINE; k += 2 * step) {                                                \
            const unsigned char *o = offset;                                                       \
            const agg_real *t = table + k;                                                         \
            agg_real *to = sum + k;                                                                \
            vec v;                                                                                 \
            AGGI_EACH4(AGGI_SUBSET_ZERO, vec, t, o)                                                \
            for (g = 0; g < groups; g++, o += AGGI_FOUR, t += 16 * AGGI_LINE) {                    \
                AGGI_EACH4(AGGI_SUBSET_ADD, vec, t, o)                                             \
            }                                                                                      \
            AGGI_EACH4(AGGI_SUBSET_STORE, vec, to, o)                                              \
        }                                                                                          \
    }
#define AGGI_ADD_TO(vec, to, v)                                                                    \
    do {                                                                                           \
        vec old_;                                                                                  \
        AGGI_LOAD(old_, to);                                                                       \
        old_ += (v);                                                                               \
        AGGI_STORE(to, old_);                                                                      \
    } while (0)
AGGI_TWINS(AGGI_MIX_KERNELS, aggi_vec32, aggi_wide)

/* clang-format on */

typedef struct aggi_mix_job {
    const aggi_call *c;
    const aggi_mix *m;
} aggi_mix_job;

/* the memory of a slice */
static aggi_mixer aggi_mixer_of_slice(const aggi_mixer *all, size_t s) {
    aggi_mixer g = *all;
    g.strip += s * g.groups * AGGI_FOUR * g.stride;
    g.sum += s * g.tiles * AGGI_FOUR * g.stride;
    g.table += s * g.tables * 16 * AGGI_LINE;
    return g;
}

/* One cache line of all new rows, at column k of the strip. The places of the table lie in the
   order of use: AGGI_TABLES groups, in that the tiles, in that the groups, in that four new
   rows. */
static void aggi_mix_line(const aggi_mixer *g, int avx2, size_t k) {
    const unsigned char *offset = g->offset;
    size_t first, i, tile, groups;
    for (first = 0; first < g->groups; first += groups) {
        groups = aggi_width(first, g->groups, AGGI_TABLES);
        for (i = 0; i < groups; i++) AGGI_TWIN(avx2, aggi_sum_subsets)
        (g->strip + (first + i) * AGGI_FOUR * g->stride + k, g->stride,
         g->table + i * 16 * AGGI_LINE);
        for (tile = 0; tile < g->tiles; tile++, offset += groups * AGGI_FOUR)
            AGGI_TWIN(avx2, aggi_add_subsets)
        (g->table, offset, groups, g->stride, g->sum + tile * AGGI_FOUR * g->stride + k);
    }
}

/* the sums of all new rows in coordinates [at, at + width) */
static void aggi_mix_strip(const aggi_call *c, const aggi_mixer *g, size_t at, size_t width,
                           agg_real shrink) {
    size_t k;
    AGGI_TWIN(c->avx2, aggi_fill_strip)(c, at, width, shrink, g->strip);
    memset(g->sum, 0, g->tiles * AGGI_FOUR * g->stride * sizeof *g->sum);
    for (k = 0; k < width; k += AGGI_LINE) aggi_mix_line(g, c->avx2, k);
}

/* Where sums of giants overflowed: again, shrunk, for those coordinates. */
static void aggi_mend_strip(const aggi_mix_job *job, const aggi_mixer *g, size_t at, size_t width) {
    const aggi_call *c = job->c;
    const double shrink = aggi_pow2(-40);
    agg_real base[AGGI_STRIP], mixed[AGGI_STRIP], alarm[AGGI_STRIP] = {0};
    size_t j;
    aggi_mix_strip(c, g, at, width, (agg_real)shrink);
    AGGI_TWIN(c->avx2, aggi_scale)(g->base + at, width, 1, (agg_real)shrink, base);
    for (j = 0; j < job->m->n_out; j++) {
        AGGI_TWIN(c->avx2, aggi_finish_row)
        (g->sum + j * g->stride, base, (agg_real)job->m->factor[j], width, mixed, alarm);
        AGGI_TWIN(c->avx2, aggi_mend)(job->m->row + j * c->stride + at, mixed, 1 / shrink, width);
    }
}

static void aggi_mix_run(void *arg, size_t s) {
    const aggi_mix_job *job = (const aggi_mix_job *)arg;
    const aggi_call *c = job->c;
    const aggi_mix *m = job->m;
    const aggi_mixer g = aggi_mixer_of_slice(&c->mixer, s);
    const size_t end = aggi_slice_begin(c, s + 1);
    size_t at, j, width;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        agg_real alarm[AGGI_STRIP] = {0};
        width = aggi_width(at, end, AGGI_STRIP);
        aggi_mix_strip(c, &g, at, width, 1);
        for (j = 0; j < m->n_out; j++) AGGI_TWIN(c->avx2, aggi_finish_row)
        (g.sum + j * g.stride, g.base + at, (agg_real)m->factor[j], width,
         m->row + j * c->stride + at, alarm);
        if (!AGGI_TWIN(c->avx2, aggi_scan_row)(alarm, width)) aggi_mend_strip(job, &g, at, width);
    }
}

/* the places in the tables: see aggi_mix_line() */
static void aggi_mix_offsets(aggi_mixer *g, const aggi_mix *m) {
    const size_t words = AGGI_WORDS(m->n_in);
    unsigned char *to = g->offset;
    size_t first, tile, i, j, end;
    for (first = 0; first < g->groups; first = end) {
        end = first + aggi_width(first, g->groups, AGGI_TABLES);
        for (tile = 0; tile < g->tiles; tile++) {
            for (i = first; i < end; i++) {
                for (j = tile * AGGI_FOUR; j < (tile + 1) * AGGI_FOUR; j++) {
                    const uint64_t set = j < m->n_out ? m->member[j * words + i / 16] : 0;
                    *to++ = (unsigned char)((set >> i % 16 * 4 & 15) * AGGI_LINE);
                }
            }
        }
    }
}

static void aggi_mix_many(aggi_call *c, const aggi_mix *m) {
    aggi_mix_job job;
    job.c = c;
    job.m = m;
    c->mixer.base = m->base;
    c->mixer.groups = aggi_fours(m->n_in);
    c->mixer.tiles = aggi_fours(m->n_out);
    aggi_mix_offsets(&c->mixer, m);
    (void)aggi_run(c, aggi_mix_run, &job, sizeof job);
}

static int aggi_mix_rows(aggi_call *c, const aggi_mix *m) {
    size_t j, made = 0;
    int status = AGG_OK;
    for (j = 0; j < m->n_out; j++) made += !m->kept[j];
    if (m->many && made) aggi_mix_many(c, m);
    for (j = 0; j < m->n_out && !m->many && status == AGG_OK; j++)
        if (!m->kept[j]) status = aggi_mix_few(c, m, j);
    return status;
}

/* the rows of the mix become the rows in play; made they are when there is something to make them
   of */
static int aggi_play_mix(aggi_call *c, const aggi_mix *m) {
    const int elsewhere = c->window.stages && !c->window.inside;
    const int status = elsewhere ? AGG_OK : aggi_mix_rows(c, m);
    size_t j;
    c->n = m->n_out;
    for (j = 0; j < c->n; j++)
        if (!m->kept[j]) c->x[j] = m->row + j * c->stride;
    return status;
}

/* rows made of n */
static size_t aggi_rows_same(const agg_desc *d, size_t n) {
    (void)d;
    return n;
}

static size_t aggi_rows_buckets(const agg_desc *d, size_t n) {
    return (n - 1) / aggi_bucket(d) + 1;
}

/* ---- 13 the tables --------------------------------------------------------------------------- */

/* What varies by rule or pre-aggregation stands here, a row each, in the order of the enums. A new
   rule is one row at the end of aggi_rules and one function above; agg_rule gets its name, RULES a
   description, and tests/test_agg_table.c a row as well. The row tells the rest of the code all it
   has to know:
     bound     {a, b, b with desc.classic_krum}: a call takes f of n rows if n >= a f + b
     lambda    for f within the bound; NULL: the paper's table has none, and none is proven here
     needs     memory it works in and options it reads
     result    what its function leaves
     course    how it goes in stages
     run       returns AGG_OK, AGG_INEXACT, an error, or AGGI_NOT_FINITE */

enum {
    AGGI_PAIRS = 1,       /* memory: c->pairs */
    AGGI_COLUMNS = 2,     /* c->columns */
    AGGI_COVER = 4,       /* c->cover */
    AGGI_GM = 8,          /* c->gm */
    AGGI_SPECTRUM = 16,   /* c->spectrum */
    AGGI_PICKED = 32,     /* c->picked */
    AGGI_MIXER = 2048,    /* c->mixer */
    AGGI_ORDER = 4096,    /* c->order */
    AGGI_EXCERPT = 8192,  /* c->excerpt */
    AGGI_DEAL = 16384,    /* c->deal */
    AGGI_SIGNS = 32768,   /* c->signs */
    AGGI_PIVOT = 64,      /* options: desc.pivot, a row that must be there */
    AGGI_Q = 128,         /* desc.q, at most n - f */
    AGGI_CLIP = 256,      /* desc.clip, more than 0 */
    AGGI_RNG = 512,       /* desc.rng */
    AGGI_TRUSTED = 65536, /* desc.trusted, or else the pivot */
    AGGI_BASELINE = 1024  /* survives no adversary; a call takes it nevertheless, to compare */
};

typedef enum aggi_result_kind {
    AGGI_WEIGHTS, /* c->weight and c->total: the call makes c->out of them */
    AGGI_WRITTEN  /* c->out, and c->weight for the report if it wants weights */
} aggi_result_kind;

typedef struct aggi_bound {
    size_t a, b, classic_b;
} aggi_bound;

/* Stages: how often distances of pairs are found, at most, and distances from a row, and how many
   more passes there are; that, again for each of desc.iterations. None of all: not in stages. */
typedef struct aggi_course {
    size_t pairs, roots, passes, each;
} aggi_course;

typedef struct aggi_rule {
    agg_rule id;
    int order_optimal;
    const char *name, *cost;
    aggi_bound bound;
    double (*lambda)(double n, double f, double dim);
    int needs;
    aggi_result_kind result;
    int (*run)(aggi_call *c);
    aggi_course course;
} aggi_rule;

/* Coordinate-wise rules lose this factor. */
static double aggi_lambda_by_columns(double n, double f, double dim) {
    return aggi_min(aggi_root0(dim), 2 * aggi_root0(n - f));
}

static double aggi_lambda_mda(double n, double f, double dim) {
    (void)dim;
    return 2 * f / (n - f);
}

static double aggi_lambda_cwtm(double n, double f, double dim) {
    return f / (n - f) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_meamed(double n, double f, double dim) {
    return 2 * f / (n - f) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_cwmed(double n, double f, double dim) {
    return n / (2 * (n - f)) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_krum(double n, double f, double dim) {
    (void)dim;
    return 1 + aggi_root0((n - f) / (n - 2 * f));
}

static double aggi_lambda_gm(double n, double f, double dim) {
    (void)dim;
    return 1 + aggi_gm_c(n, f);
}

/* Proven here. Let G be n-f rows whose numbers in a coordinate range from 0 to d. Of the f+1
   largest numbers one is of G, so none counts for more than d. Let a of the f lowest be of G: these
   f, f-a of them not of G, are raised to some l <= d. Of G there are n-f-a numbers z left, all at
   least l, and a others, which count for d at most. So
       out - mean_G <= (f l + a d + sum z)/n - (sum z)/(n-f),
   which is largest for z = l: a (d-l)/n + a l/(n-f) <= f/(n-f) d. As much the other way round; and
   over all coordinates sqrt(sum d^2) is at most D diameters. CWTM has the same. */
static double aggi_lambda_winsor(double n, double f, double dim) {
    return f / (n - f) * aggi_lambda_by_columns(n, f, dim);
}

/* Proven here. Let r be the distance of the farthest of G from the median c. G has n-f rows, so the
   n-f nearest, S, are within r too. S and G differ by t <= f rows each way, two of which are 2r
   apart at most: ||mean_S - mean_G|| <= 2 f r/(n-f). c is in the range of G in every coordinate,
   hence r <= D diameters; and r <= ||c - mean_G|| + one diameter, with the lambda of CWMed. */
static double aggi_lambda_aksel(double n, double f, double dim) {
    const double across = aggi_lambda_by_columns(n, f, dim);
    return 2 * f / (n - f) * aggi_min(across, 1 + aggi_lambda_cwmed(n, f, dim));
}

static double aggi_lambda_mean(double n, double f, double dim) {
    (void)n;
    (void)f;
    (void)dim;
    return 0; /* f is 0 */
}

/* clang-format off */

static const aggi_rule aggi_rules[] = {
    /* id, order-optimal, name, cost, bound, lambda,
       needs, result, run, course */
    {AGG_MDA,        1, "MDA",        "n^2 d + search", {2, 1, 1}, aggi_lambda_mda,
     AGGI_PAIRS | AGGI_COVER,                  AGGI_WEIGHTS, aggi_mda, {1, 0, 1, 0}},
    {AGG_CWTM,       1, "CWTM",       "n d",            {2, 1, 1}, aggi_lambda_cwtm,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwtm, {0, 0, 1, 0}},
    {AGG_MEAMED,     1, "MeaMed",     "n d",            {2, 1, 1}, aggi_lambda_meamed,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_meamed, {0, 0, 1, 0}},
    {AGG_CWMED,      0, "CWMed",      "n d",            {2, 1, 1}, aggi_lambda_cwmed,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwmed, {0, 0, 1, 0}},
    {AGG_KRUM,       0, "Krum",       "n^2 d",          {2, 1, 3}, aggi_lambda_krum,
     AGGI_PAIRS,                               AGGI_WEIGHTS, aggi_krum, {1, 0, 1, 0}},
    {AGG_MULTI_KRUM, 0, "Multi-Krum", "n^2 d",          {2, 1, 3}, aggi_lambda_krum,
     AGGI_PAIRS | AGGI_Q,                      AGGI_WEIGHTS, aggi_multi_krum, {1, 0, 1, 0}},
    {AGG_GM,         0, "GM",         "n^2 d",          {2, 1, 1}, aggi_lambda_gm,
     AGGI_PAIRS | AGGI_GM,                     AGGI_WRITTEN, aggi_geometric_median, {3, 0, 200, 0}},
    {AGG_MEAN,       0, "mean",       "n d",            {2, 1, 1}, aggi_lambda_mean,
     AGGI_BASELINE,                            AGGI_WEIGHTS, aggi_mean, {0, 0, 1, 0}},
    {AGG_BULYAN,     0, "Bulyan",     "n^2 d",          {4, 3, 3}, NULL,
     AGGI_PAIRS | AGGI_COLUMNS | AGGI_PICKED | AGGI_ORDER, AGGI_WRITTEN, aggi_bulyan, {1, 0, 1, 0}},
    {AGG_CCLIP,      0, "CClip",      "n d",            {2, 1, 1}, NULL,
     AGGI_COLUMNS | AGGI_PICKED,               AGGI_WRITTEN, aggi_cclip, {0, 1, 1, 1}},
    {AGG_CGE,        0, "CGE",        "n d",            {2, 1, 1}, NULL,
     0,                                        AGGI_WEIGHTS, aggi_cge, {0, 1, 1, 0}},
    {AGG_MONNA,      0, "MoNNA",      "n d",            {2, 1, 1}, NULL,
     AGGI_PIVOT,                               AGGI_WEIGHTS, aggi_monna, {0, 1, 1, 0}},
    {AGG_CAF,        0, "CAF",        "n^2 d + f n^2",  {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_caf, {1, 0, 1, 0}},
    {AGG_SMEA,       0, "SMEA",       "n^2 d + search", {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_smea, {1, 0, 1, 0}},
    {AGG_AKSEL,      0, "Aksel",      "n d",            {2, 1, 1}, aggi_lambda_aksel,
     AGGI_COLUMNS,                             AGGI_WEIGHTS, aggi_aksel, {0, 1, 2, 0}},
    {AGG_DNC,        0, "DnC",        "n^2 d",          {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_SPECTRUM | AGGI_EXCERPT | AGGI_RNG, AGGI_WEIGHTS, aggi_dnc, {0, 0, 0, 0}},
    {AGG_FLTRUST,    0, "FLTrust",    "n d",            {2, 1, 1}, NULL,
     AGGI_PICKED | AGGI_PIVOT | AGGI_TRUSTED,  AGGI_WRITTEN, aggi_fltrust, {0, 2, 2, 0}},
    {AGG_SIGNGUARD,  0, "SignGuard",  "n d",            {2, 1, 1}, NULL,
     AGGI_PICKED | AGGI_SIGNS | AGGI_RNG,      AGGI_WRITTEN, aggi_signguard, {0, 0, 0, 0}},
    {AGG_GAS,        0, "GAS",        "n d",            {2, 1, 1}, NULL,
     AGGI_COLUMNS | AGGI_DEAL | AGGI_RNG,     AGGI_WEIGHTS, aggi_gas, {0, 0, 0, 0}},
    {AGG_WINSOR,     0, "winsorised", "n d",            {2, 1, 1}, aggi_lambda_winsor,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_winsor, {0, 0, 1, 0}},
    {AGG_SIGN_VOTE,  0, "sign vote",  "n d",            {2, 1, 1}, NULL,
     0,                                        AGGI_WRITTEN, aggi_sign_vote, {0, 0, 1, 0}},
    {AGG_FEDPG,      0, "FedPG",      "n^2 d",          {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_PICKED,                 AGGI_WEIGHTS, aggi_fedpg, {1, 0, 1, 0}},
};

typedef struct aggi_pre {
    agg_pre id;
    int needs;
    const char *name;
    size_t (*rows)(const agg_desc *d, size_t n); /* made of n */
    int (*fill)(aggi_call *c, aggi_mix *m);      /* NULL: nothing to do */
    aggi_course course;
} aggi_pre;

static const aggi_pre aggi_pres[] = {
    {AGG_PRE_NONE,      0,         "none",      aggi_rows_same,    NULL, {0, 0, 0, 0}},
    {AGG_PRE_NNM, AGGI_PAIRS | AGGI_MIXER, "NNM", aggi_rows_same,  aggi_mix_nnm, {1, 0, 0, 0}},
    {AGG_PRE_BUCKETING, AGGI_RNG,  "bucketing", aggi_rows_buckets, aggi_mix_bucketing,
     {0, 0, 0, 0}},
    {AGG_PRE_CLIP,      AGGI_CLIP, "clipping",  aggi_rows_same,    aggi_mix_clip, {0, 1, 0, 0}},
    {AGG_PRE_ARC,       0,         "ARC",       aggi_rows_same,    aggi_mix_arc, {0, 1, 0, 0}},
    {AGG_PRE_CLIP_MEDIAN, 0, "median clipping", aggi_rows_same,    aggi_mix_clip_median,
     {0, 1, 0, 0}},
};

/* a row that was forgotten does not compile; one in the wrong place fails tests/test_agg_table.c */
typedef char aggi_every_rule[sizeof aggi_rules / sizeof *aggi_rules == AGG_RULE_COUNT ? 1 : -1];
typedef char aggi_every_pre[sizeof aggi_pres / sizeof *aggi_pres == AGG_PRE_COUNT ? 1 : -1];

/* clang-format on */

static int aggi_is_rule(agg_rule rule) { return (unsigned)rule < AGG_RULE_COUNT; }

static int aggi_is_pre(agg_pre pre) { return (unsigned)pre < AGG_PRE_COUNT; }

/* of a rule and its pre-aggregations */
static int aggi_needs(const agg_desc *d) {
    return aggi_rules[d->rule].needs | aggi_pres[d->pre[0]].needs | aggi_pres[d->pre[1]].needs;
}

static int aggi_has_pre(const agg_desc *d) { return d->pre[0] || d->pre[1]; }

/* ---- 14 the call ----------------------------------------------------------------------------- */

static int aggi_positive(double v) { return v > 0 && aggi_finite(v); }

static agg_status aggi_refuse(aggi_complaint *c, agg_status s, const char *text, double a,
                              double b) {
    c->text = text;
    c->number[0] = a;
    c->number[1] = b;
    return s;
}

/* Does the rule take f of n rows? Fewer than d->n: buckets made them. */
static agg_status aggi_check_bound(const agg_desc *d, size_t n, aggi_complaint *c) {
    const aggi_bound *bound = &aggi_rules[d->rule].bound;
    const size_t b = d->classic_krum ? bound->classic_b : bound->b;
    const size_t most = n >= b ? (n - b) / bound->a : 0;
    if (n >= b && d->f <= most) return AGG_OK;
    c->number[2] = (double)n;
    c->number[3] = (double)bound->a;
    c->number[4] = (double)b;
    return aggi_refuse(c, AGG_ERR_BOUND,
                       n < d->n ? "f is #: @ survives at most # of the # rows that buckets leave, "
                                  "for rows >= # f + #"
                                : "f is #: @ survives at most # of #, for n >= # f + #",
                       (double)d->f, (double)most);
}

/* 0, which is the default, or a number above it */
static int aggi_is_option(double v, double most) {
    return aggi_is_zero(v) || (aggi_positive(v) && v <= most);
}

/* a row of the host's, not the pivot */
static int aggi_trusts_other(const agg_desc *d) {
    return (aggi_needs(d) & AGGI_TRUSTED) && d->trusted;
}

static agg_status aggi_check_names(const agg_desc *d, aggi_complaint *c) {
    size_t i;
    if (!d->n || !d->dim)
        return aggi_refuse(c, AGG_ERR_ARG, "n is # and dim is #: rows and numbers a row, not 0",
                           (double)d->n, (double)d->dim);
    if (!aggi_is_rule(d->rule))
        return aggi_refuse(c, AGG_ERR_ARG, "rule is #: the rules are 0 .. #", (double)d->rule,
                           AGG_RULE_COUNT - 1);
    c->number[2] = AGG_PRE_COUNT - 1;
    for (i = 0; i < 2; i++)
        if (!aggi_is_pre(d->pre[i]))
            return aggi_refuse(c, AGG_ERR_ARG, "pre[#] is #: the pre-aggregations are 0 .. #",
                               (double)i, (double)d->pre[i]);
    c->name = aggi_rules[d->rule].name;
    return AGG_OK;
}

static agg_status aggi_check_options(const agg_desc *d, aggi_complaint *c) {
    const int needs = aggi_needs(d);
    if ((needs & AGGI_CLIP) && !aggi_positive(d->clip))
        return aggi_refuse(c, AGG_ERR_ARG, "clip is #: AGG_PRE_CLIP needs a finite norm above 0",
                           d->clip, 0);
    if ((needs & AGGI_PIVOT) && !aggi_trusts_other(d) && d->pivot >= d->n)
        return aggi_refuse(c, AGG_ERR_ARG, "pivot is #: the rows are 0 .. #", (double)d->pivot,
                           (double)(d->n - 1));
    if (!aggi_is_option(d->tau, DBL_MAX))
        return aggi_refuse(c, AGG_ERR_ARG, "tau is #: it is finite and above 0, or 0", d->tau, 0);
    if (!aggi_is_option(d->gap, DBL_MAX))
        return aggi_refuse(c, AGG_ERR_ARG, "gap is #: it is finite and above 0, or 0", d->gap, 0);
    if (!aggi_is_option(d->share, 1))
        return aggi_refuse(c, AGG_ERR_ARG, "share is #: it is above 0, at most 1, or 0", d->share,
                           0);
    if (!aggi_is_option(d->sigma, DBL_MAX))
        return aggi_refuse(c, AGG_ERR_ARG, "sigma is #: it is finite and above 0, or 0", d->sigma,
                           0);
    if (!aggi_is_option(d->delta, 1) || d->delta >= 1)
        return aggi_refuse(c, AGG_ERR_ARG, "delta is #: it is above 0, below 1, or 0", d->delta, 0);
    return AGG_OK;
}

/* how many of n rows the rule is given, behind the pre-aggregations; AGG_ERR_BOUND: it does not
   take f of them, or of some on the way */
static agg_status aggi_check_rows(const agg_desc *d, size_t n, size_t *left, aggi_complaint *c) {
    agg_status s = aggi_check_bound(d, n, c);
    size_t i;
    for (i = 0; i < 2 && s == AGG_OK; i++) {
        n = aggi_pres[d->pre[i]].rows(d, n);
        s = aggi_check_bound(d, n, c);
    }
    *left = n;
    return s;
}

/* Every check of a desc; c is written if one fails. */
static agg_status aggi_validate(const agg_desc *d, aggi_complaint *c) {
    agg_status s;
    size_t n;
    if (!d) return aggi_refuse(c, AGG_ERR_ARG, "the desc is NULL", 0, 0);
    s = aggi_check_names(d, c);
    if (s == AGG_OK) s = aggi_check_options(d, c);
    if (s == AGG_OK) s = aggi_check_bound(d, d->n, c);
    if (s != AGG_OK) return s;
    if ((aggi_needs(d) & AGGI_RNG) && !d->rng.next) {
        if (!(aggi_rules[d->rule].needs & AGGI_RNG)) c->name = aggi_pres[AGG_PRE_BUCKETING].name;
        return aggi_refuse(c, AGG_ERR_RNG, "rng.next is NULL: @ draws random numbers", 0, 0);
    }
    s = aggi_check_rows(d, d->n, &n, c);
    if (s == AGG_OK && (aggi_needs(d) & AGGI_Q) && d->q > n - d->f)
        return aggi_refuse(c, AGG_ERR_ARG, "q is #: @ averages at most n - f = # rows",
                           (double)d->q, (double)(n - d->f));
    return s;
}

static size_t aggi_count_late(const agg_desc *d) {
    size_t i, late = 0;
    for (i = 0; i < d->n && d->late; i++) late += d->late[i] != 0;
    return late;
}

/* can the sizes below be multiplied at all, and rows be counted in 31 bits? */
static int aggi_sizes_fit(const agg_desc *d) {
    const size_t most = (size_t)-1 / 16384, counted = 0x7fffffffu;
    const int needs = aggi_needs(d);
    if (d->n > (most < counted ? most : counted)) return 0;
    return !((needs & AGGI_PAIRS) || aggi_has_pre(d)) || aggi_product_fits(d->n, d->n);
}

/* the most sums that a kernel makes of a slice */
static size_t aggi_most_sums(int needs, size_t n) {
    const size_t own = needs & AGGI_TRUSTED ? 8 * n : 2 * n + 1;
    const size_t pairs = needs & AGGI_PAIRS ? aggi_gram_sums(n) : 0;
    return pairs > own ? pairs : own;
}

/* The one place that knows how much memory a desc needs. */
static void aggi_layout(aggi_call *c, aggi_arena *a) {
    const agg_desc *d = c->desc;
    const int needs = aggi_needs(d);
    const size_t n = d->n;
    size_t i;
    if (!aggi_sizes_fit(d)) {
        a->bad = 1;
        return;
    }
    aggi_call_layout(c, a, aggi_most_sums(needs, n));
    if (needs & AGGI_PAIRS) aggi_pairs_layout(&c->pairs, a, d, c->slices);
    if (needs & AGGI_COLUMNS) aggi_columns_layout(&c->columns, a, n, c->slices);
    if (needs & AGGI_COVER) aggi_cover_layout(&c->cover, a, n, d->f);
    if (needs & AGGI_GM) aggi_gm_layout(&c->gm, a, n);
    if (needs & AGGI_SPECTRUM) aggi_spectrum_layout(&c->spectrum, a, n);
    if (needs & AGGI_PICKED) aggi_picked_layout(&c->picked, a, n);
    if (needs & AGGI_ORDER) aggi_order_layout(&c->order, a, n);
    if (needs & AGGI_EXCERPT) aggi_excerpt_layout(&c->excerpt, a, d);
    if (needs & AGGI_DEAL) aggi_deal_layout(&c->deal, a, d, c->slices);
    if (needs & AGGI_SIGNS) aggi_signs_layout(&c->signs, a, n);
    if (needs & AGGI_MIXER) aggi_mixer_layout(&c->mixer, a, n, c->stride, c->slices);
    for (i = 0; i < 2; i++)
        if (d->pre[i]) aggi_mix_layout(&c->mix[i], a, n, c->stride);
}

/* stride: as many numbers of a row are at hand at once */
static void aggi_call_begin(aggi_call *c, const agg_desc *d, size_t stride, aggi_arena *a) {
    memset(c, 0, sizeof *c);
    c->desc = d;
    c->dim = d->dim;
    c->stride = stride;
    c->slices = aggi_slices(d->n, d->dim);
    c->avx2 = AGGI_HAS_AVX2;
    aggi_layout(c, a);
}

/* Lays a call out in scratch; NULL: only counts. Returns the bytes needed, 0 if they do not fit a
   size_t. */
static size_t aggi_begin(aggi_call *c, const agg_desc *d, void *scratch, size_t size) {
    aggi_arena a = aggi_arena_make(scratch, size);
    aggi_call_begin(c, d, d->dim, &a);
    return aggi_arena_size(&a);
}

/* nothing is known about the rows */
static void aggi_all_dirty(const aggi_call *c) {
    size_t s;
    for (s = 0; s < c->slices; s++) c->clean[s] = aggi_slice_begin(c, s);
}

/* the rows that are there */
static void aggi_collect(aggi_call *c, const agg_real *const *rows) {
    size_t i;
    for (i = 0; i < c->desc->n; i++) {
        if (!rows[i] || (c->desc->late && c->desc->late[i])) continue;
        c->sent.id[c->sent.n] = i;
        c->sent.row[c->sent.n++] = rows[i];
    }
    c->report.dropped = c->desc->n - c->report.late - c->sent.n;
    aggi_all_dirty(c);
}

/* part: for each row whether some number of the slice is not finite */
static void aggi_scan_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t begin = c->window.inside ? 0 : c->clean[s], end = aggi_slice_begin(c, s + 1);
    double *odd = c->part + s * c->sent.n;
    size_t i, at, width;
    aggi_begin_sums(c, odd, c->sent.n);
    for (i = 0; i < c->sent.n; i++) {
        for (at = begin; at < end && odd[i] == 0; at += width) {
            width = aggi_width(at, end, AGGI_CHUNK);
            odd[i] = !AGGI_TWIN(c->avx2, aggi_scan_row)(c->sent.row[i] + at, width);
        }
    }
}

/* Reads all rows and drops those with a NaN or Inf. The kernels that a NaN or Inf stops, as the sum
   of all rows or a column has it, leave in c->clean how far they came: before that there is none.
   Other kernels come to their end. (Rows made by pre-aggregations are finite: whatever makes them
   looks at all rows sent.) */
static int aggi_scan(aggi_call *c) {
    aggi_senders *sent = &c->sent;
    size_t i, s, m = 0;
    const int status = aggi_run_leaving(c, aggi_scan_run, c, 0, c->part, sent->n * sizeof *c->part);
    if (status) return status;
    for (i = 0; i < sent->n; i++) {
        double odd = 0;
        for (s = 0; s < c->slices; s++) odd += c->part[s * sent->n + i];
        if (odd > 0) continue;
        sent->id[m] = sent->id[i];
        sent->row[m++] = sent->row[i];
    }
    c->report.dropped += sent->n - m;
    sent->n = m;
    c->scanned = 1;
    return AGG_OK;
}

/* the rows sent come into play */
static void aggi_play(aggi_call *c) {
    size_t i;
    c->n = c->sent.n;
    c->f = c->desc->f - c->report.dropped;
    c->pivot = c->n;
    for (i = 0; i < c->n; i++) {
        c->x[i] = c->sent.row[i];
        if (c->sent.id[i] == c->desc->pivot) c->pivot = i;
    }
    c->mix[0].ready = c->mix[1].ready = 0;
}

static int aggi_pre_aggregate(aggi_call *c, size_t which) {
    const aggi_pre *pre = &aggi_pres[c->desc->pre[which]];
    aggi_mix *m = &c->mix[which];
    int status;
    if (!pre->fill) return AGG_OK;
    m->n_in = c->n;
    m->n_out = pre->rows(c->desc, c->n);
    memset(m->member, 0, m->n_out * AGGI_WORDS(c->n) * sizeof *m->member);
    memset(m->kept, 0, m->n_out * sizeof *m->kept);
    status = pre->fill(c, m);
    if (status) return status;
    m->many = pre->needs & AGGI_MIXER;
    m->ready = 1;
    return aggi_play_mix(c, m);
}

/* is the row there that the rule trusts, if it does? */
static int aggi_is_trust_kept(const aggi_call *c) {
    if (aggi_trusts_other(c->desc))
        return c->window.stages || aggi_all_finite(c->desc->trusted, c->dim);
    return !(aggi_needs(c->desc) & AGGI_PIVOT) || c->pivot < c->n;
}

static int aggi_stages_rule(aggi_call *c);
static void aggi_stages_suspect(agg_stages *st);

/* pre-aggregations and rule on the rows sent; the result is in c->out */
static int aggi_attempt(aggi_call *c) {
    const aggi_rule *rule = &aggi_rules[c->desc->rule];
    aggi_blend blend;
    int status, combined;
    if (c->report.dropped > c->desc->f) return AGG_ERR_ROWS;
    aggi_play(c);
    if (!aggi_is_trust_kept(c)) return AGG_ERR_PIVOT;
    c->total = 1;
    c->report.nodes = 0;
    status = aggi_pre_aggregate(c, 0);
    if (status == AGG_OK) status = aggi_pre_aggregate(c, 1);
    if (status == AGG_OK) status = c->window.stages ? aggi_stages_rule(c) : rule->run(c);
    if (status != AGG_OK && status != AGG_INEXACT) return status;
    if (rule->result == AGGI_WRITTEN) return status;
    blend = aggi_result(c);
    combined = aggi_combine(c, &blend);
    return combined ? combined : status;
}

/* A NaN or Inf convicts its sender, but to look for one first would be to read all rows once more.
   So the first attempt trusts the rows. A NaN or Inf makes some sum not finite that a kernel forms
   anyway, or is seen as columns are loaded; the kernel then returns AGGI_NOT_FINITE, and the
   attempt is thrown away: the caller's out is not written yet. Only now the rows are scanned, those
   with a NaN or Inf are dropped, and the second attempt is made without them. Its rows are finite,
   so a sum that is not has overflowed, and kernels that see c->scanned do it again by a slower,
   safe route.
   Random numbers are drawn once: before they are, the rows are scanned. */
static int aggi_aggregate(aggi_call *c) {
    int status = AGG_OK;
    if ((aggi_needs(c->desc) & AGGI_RNG) || c->suspect) status = aggi_scan(c);
    if (status == AGG_OK) status = aggi_attempt(c);
    if (status != AGGI_NOT_FINITE) return status;
    AGG_ASSERT(!c->scanned || c->window.stages);
    if (c->scanned) return AGG_ERR_ARG; /* finite rows leave no such sums: they were put */
    if (c->window.stages) aggi_stages_suspect(c->window.stages);
    status = aggi_scan(c);
    return status ? status : aggi_attempt(c);
}

/* back from the rows the rule saw, c->weight, through the pre-aggregations to those sent */
static void aggi_report_weights(aggi_call *c) {
    size_t i, j, which;
    for (i = 0; i < c->n; i++) c->weight[i] /= c->total;
    for (which = 2; which-- > 0;) {
        const aggi_mix *m = &c->mix[which];
        if (!c->desc->pre[which]) continue;
        for (i = 0; i < m->n_in; i++) {
            c->key[i] = 0;
            for (j = 0; j < m->n_out; j++)
                if (aggi_has(m->member + j * AGGI_WORDS(m->n_in), i))
                    c->key[i] += c->weight[j] * m->factor[j];
        }
        memcpy(c->weight, c->key, m->n_in * sizeof *c->weight);
    }
    memset(c->report.weight, 0, c->desc->n * sizeof *c->report.weight);
    c->report.used = 0;
    for (i = 0; i < c->sent.n; i++) {
        c->report.weight[c->sent.id[i]] = c->weight[i];
        c->report.used += c->weight[i] > 0;
    }
}

/* the attempt succeeded, so all rows are finite, scanned or not */
static int aggi_report_suspicion(aggi_call *c) {
    const double infinity = aggi_infinity();
    double usual;
    size_t i;
    int status;
    c->scanned = 1;
    status = aggi_find_roots(c, c->sent.row, c->sent.n, c->out, c->key);
    if (status) return status;
    aggi_rank(c->item, c->key, c->sent.n, c->sent.n);
    usual = aggi_median_root(c->item, c->sent.n);
    for (i = 0; i < c->desc->n; i++)
        c->report.suspicion[i] = c->desc->late && c->desc->late[i] ? 0 : infinity;
    for (i = 0; i < c->sent.n; i++) {
        const double beyond = c->key[i] > 0 ? infinity : 1;
        c->report.suspicion[c->sent.id[i]] = usual > 0 ? aggi_ratio(c->key[i], usual) : beyond;
    }
    return AGG_OK;
}

/* the attempt ended so: fills in the report, if there is one */
static int aggi_report(aggi_call *c, int status, agg_report *report) {
    if (status == AGGI_PENDING) return status;
    if (status > AGG_INEXACT) {
        if (report) report->dropped = c->report.dropped;
        if (report) report->late = c->report.late;
        return status;
    }
    if (c->report.suspicion) {
        const int found = aggi_report_suspicion(c);
        if (found) return found;
    }
    if (c->report.weight) aggi_report_weights(c);
    if (report) *report = c->report;
    return status;
}

/* what the report asks for */
static void aggi_report_begin(aggi_call *c, const agg_report *report, size_t late) {
    c->report.weight = report ? report->weight : NULL;
    c->report.suspicion = report ? report->suspicion : NULL;
    c->report.late = late;
}

AGG_API agg_desc agg_make_desc(agg_rule rule, size_t n, size_t dim, size_t f) {
    agg_desc d;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = dim;
    d.f = f;
    d.rule = rule;
    return d;
}

AGG_API size_t agg_scratch_size(const agg_desc *d) {
    aggi_complaint unsaid;
    aggi_call c;
    return aggi_validate(d, &unsaid) == AGG_OK ? aggi_begin(&c, d, NULL, 0) : 0;
}

AGG_API agg_status agg_explain(const agg_desc *d, char *text, size_t size) {
    aggi_words w = aggi_words_make(text, size);
    aggi_complaint c;
    agg_status s = aggi_validate(d, &c);
    if (s == AGG_OK && !agg_scratch_size(d))
        s = aggi_refuse(&c, AGG_ERR_SIZE, "n is # and dim is #: sizes overflow", (double)d->n,
                        (double)d->dim);
    if (s == AGG_OK)
        c.text = (aggi_needs(d) & AGGI_BASELINE) && d->f
                     ? "ok, but the mean survives no adversary, whatever f is"
                     : "ok";
    aggi_say_complaint(&w, &c);
    return s;
}

AGG_API agg_status agg_aggregate(const agg_desc *d, const agg_real *const *rows, agg_real *out,
                                 void *scratch, size_t scratch_size, agg_report *report) {
    aggi_complaint unsaid;
    const agg_status valid = aggi_validate(d, &unsaid);
    aggi_call c;
    size_t need, late;
    int status;
    if (valid != AGG_OK) return valid;
    if (!rows || !out || !scratch) return AGG_ERR_ARG;
    late = aggi_count_late(d);
    if (aggi_check_rows(d, d->n - late, &need, &unsaid) != AGG_OK) return AGG_ERR_BOUND;
    need = aggi_begin(&c, d, scratch, scratch_size);
    if (!need) return AGG_ERR_SIZE;
    if (scratch_size < need) return AGG_ERR_SCRATCH;
    AGG_ASSERT(c.out); /* what is large enough wherever it begins is so here */
    aggi_report_begin(&c, report, late);
    aggi_collect(&c, rows);
    status = aggi_report(&c, aggi_aggregate(&c), report);
    if (status <= AGG_INEXACT) memcpy(out, c.out, d->dim * sizeof *out);
    return (agg_status)status;
}

/* ---- 15 stages ------------------------------------------------------------------------------- */

/* A call whose rows are not at hand. agg_stages_decide() makes the call (14) as if they were: c->x
   points to places where windows may be, which nobody looks at but jobs. Where a job is to run over
   the slices, it is noted down (st->task), and AGGI_PENDING goes back all the way. agg_stages_add()
   then runs the job on one window after the other. When all slices are done, the call is made once
   more from its beginning: what jobs left before is in a log, so that it comes as far as the next
   job, and so on. Pre-aggregations are made anew for each window. Nothing else is different, so the
   bits are not. */

#define AGGI_PARTS ((size_t)64) /* of a pass: slices, or groups of a sample */

/* any job's arg */
typedef union aggi_arg {
    aggi_pairs_job pairs;
    aggi_peek peek;
    aggi_roots_job roots;
    aggi_combine_job combine;
    aggi_window_job window;
    aggi_gm_job gm;
    aggi_trust_job trust;
} aggi_arg;

/* A pointer to a row that the call has somewhere; it goes to the window that is at hand. */
typedef struct aggi_slot {
    const agg_real **at;
    size_t row;
} aggi_slot;

/* what a rule left that mixes rows */
typedef struct aggi_decision {
    int made, status;
    double *weight, total; /* n */
    agg_report report;
} aggi_decision;

struct agg_stages {
    aggi_call c, fresh;       /* the call, and how it begins */
    agg_desc desc;            /* the caller's, with pointers to windows and our rng */
    const agg_real *given[2]; /* the caller's start and trusted row, */
    agg_real *shown[2];       /* and what is at hand of them */
    agg_rng rng;              /* the caller's */
    uint64_t *drawn;          /* 2 n: what it gave */
    size_t draws, known;      /* drawn from there this time, and ever */
    agg_report *report;
    agg_real *row;           /* n x window: where rows may be loaded to */
    const agg_real **sent;   /* n: the places there, NULL for those that are missing */
    aggi_slot *slot;         /* 5 n + 8: where the call has such a place, */
    size_t slots;            /* so many times */
    unsigned char *log;      /* what jobs left */
    size_t used, at;         /* bytes of it, and how far the call came */
    aggi_task task;          /* the pass: a job, */
    aggi_arg arg;            /* its argument, */
    size_t parts, step;      /* its parts, and how far groups of a sample are apart, */
    size_t width;            /* so many numbers each; 0: the parts are slices */
    size_t done[AGGI_PARTS]; /* up to where a part was added */
    int pending;             /* it is to be made */
    int ended, status;       /* no more passes, and how the call ended */
    aggi_decision decision;
    const agg_real **x; /* n: rows being mixed, */
    aggi_terms terms;   /* their sums */
    int *mixed;         /* and what these have to say */
};

/* random numbers come from the log as well */
static uint64_t aggi_stages_draw(void *self) {
    agg_stages *st = (agg_stages *)self;
    if (st->draws == st->known) st->drawn[st->known++] = st->rng.next(st->rng.self);
    return st->drawn[st->draws++];
}

static size_t aggi_eights(size_t bytes) { return (bytes + 7) / 8 * 8; }

/* bytes that a task leaves in the log, before the statuses */
static size_t aggi_task_size(const aggi_call *c, const aggi_task *t) {
    return aggi_eights(t->added ? t->bytes : c->slices * t->bytes);
}

static size_t aggi_status_size(const aggi_call *c) {
    return aggi_eights(c->slices * sizeof *c->status);
}

static void aggi_peek_run(void *arg, size_t g) {
    const aggi_peek *p = (const aggi_peek *)arg;
    agg_real *to = p->to + g * aggi_peek_count(p) * p->width;
    size_t i;
    for (i = 0; i < p->n; i++, to += p->width) memcpy(to, p->row[i], p->width * sizeof *to);
    if (p->center) memcpy(to, p->center, p->width * sizeof *to);
}

/* is it the place of a row? */
static void aggi_slot_add(agg_stages *st, const agg_real **at) {
    const uintptr_t place = (uintptr_t)*at, first = (uintptr_t)st->row;
    const size_t row = (size_t)(place - first) / (st->c.stride * sizeof *st->row);
    if (!*at || place < first || row >= st->desc.n) return;
    st->slot[st->slots].at = at;
    st->slot[st->slots++].row = row;
}

static void aggi_slots_add(agg_stages *st, const agg_real **at, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) aggi_slot_add(st, at + i);
}

/* every pointer to a row that a job or a mix could follow */
static void aggi_stages_slots(agg_stages *st) {
    aggi_call *c = &st->c;
    st->slots = 0;
    aggi_slots_add(st, c->sent.row, c->sent.n);
    aggi_slots_add(st, c->x, c->n);
    aggi_slots_add(st, c->terms.row, c->terms.n);
    aggi_slots_add(st, &c->terms.base, 1);
    aggi_slots_add(st, c->picked.row, c->picked.row ? st->desc.n + 1 : 0);
    aggi_slots_add(st, &c->mix[0].base, 1);
    aggi_slots_add(st, &c->mix[1].base, 1);
    if (st->task.job == aggi_roots_run) aggi_slots_add(st, &st->arg.roots.center, 1);
    if (st->task.job == aggi_peek_run) aggi_slots_add(st, &st->arg.peek.center, 1);
    if (st->task.job == aggi_trust_dots) aggi_slots_add(st, &st->arg.trust.g, 1);
}

/* a pass has to be made */
static int aggi_stages_note(agg_stages *st, const aggi_task *t, size_t parts, size_t step,
                            size_t width) {
    size_t p;
    AGG_ASSERT(t->arg_size <= sizeof st->arg && parts <= AGGI_PARTS);
    st->task = *t;
    if (t->arg_size) {
        memcpy(&st->arg, t->arg, t->arg_size);
        st->task.arg = &st->arg;
    }
    aggi_stages_slots(st);
    st->parts = parts;
    st->step = step;
    st->width = width;
    for (p = 0; p < parts; p++) agg_stages_part(st, p, &st->done[p], &width);
    st->pending = 1;
    return AGGI_PENDING;
}

/* what the job left when its pass was made; or it is to be made now */
static int aggi_stages_run(const aggi_call *c, const aggi_task *t) {
    agg_stages *st = c->window.stages;
    const size_t size = aggi_task_size(c, t), all = size + aggi_status_size(c);
    if (st->at == st->used) {
        memset(c->status, 0, c->slices * sizeof *c->status);
        return aggi_stages_note(st, t, c->slices, 0, 0);
    }
    memcpy(t->left, st->log + st->at, size);
    memcpy(c->status, st->log + st->at + size, c->slices * sizeof *c->status);
    st->at += all;
    return AGG_OK;
}

/* p->to = what was seen; it is in the log */
static int aggi_stages_peek(aggi_peek *p) {
    agg_stages *st = p->c->window.stages;
    aggi_task t;
    p->to = (agg_real *)(void *)(st->log + st->at);
    t.job = aggi_peek_run;
    t.arg = p;
    t.arg_size = sizeof *p;
    t.left = p->to;
    t.bytes = aggi_peek_count(p) * p->width * sizeof *p->to;
    t.added = 0;
    if (st->at == st->used) return aggi_stages_note(st, &t, p->groups, p->step, p->width);
    st->at += aggi_eights(p->groups * t.bytes);
    return AGG_OK;
}

/* The pass is made: its sums go to the log. */
static void aggi_stages_commit(agg_stages *st) {
    const aggi_task *t = &st->task;
    const aggi_call *c = &st->c;
    unsigned char *to = st->log + st->used;
    st->pending = 0;
    if (st->width) {
        st->used += aggi_eights(st->parts * t->bytes);
        return;
    }
    if (t->added) aggi_sum_slices((double *)t->left, c->slices, t->bytes / sizeof(double));
    memcpy(to, t->left, aggi_task_size(c, t));
    memcpy(to + aggi_task_size(c, t), c->status, c->slices * sizeof *c->status);
    st->used += aggi_task_size(c, t) + aggi_status_size(c);
}

/* A row is not finite: the log is of no use, the rows are scanned. */
static void aggi_stages_suspect(agg_stages *st) {
    st->used = st->at = 0;
    st->c.suspect = st->fresh.suspect = 1;
    st->decision.made = 0;
}

/* The rule. What a search found is kept, and what it was found from is not needed any more. */
static int aggi_stages_rule(aggi_call *c) {
    agg_stages *st = c->window.stages;
    const aggi_rule *rule = &aggi_rules[c->desc->rule];
    aggi_decision *d = &st->decision;
    const size_t begin = st->at;
    if (!d->made) {
        d->status = rule->run(c);
        if (rule->result == AGGI_WRITTEN || d->status < AGG_OK) return d->status;
        d->made = 1;
        memcpy(d->weight, c->weight, c->n * sizeof *d->weight);
        d->total = c->total;
        d->report = c->report;
        st->used = st->at = begin;
    }
    memcpy(c->weight, d->weight, c->n * sizeof *d->weight);
    c->total = d->total;
    c->report = d->report;
    return d->status;
}

/* ---- their memory */

static aggi_course aggi_course_of(const agg_desc *d) {
    const aggi_course *rule = &aggi_rules[d->rule].course;
    const size_t most = (size_t)-1 / 4096, times = aggi_or(d->iterations, 3);
    aggi_course c = *rule;
    size_t i;
    for (i = 0; i < 2; i++) {
        c.pairs += aggi_pres[d->pre[i]].course.pairs;
        c.roots += aggi_pres[d->pre[i]].course.roots;
    }
    if (rule->each) {
        c.roots += times < most ? times : most;
        c.passes += times < most ? times : most;
    }
    c.roots++;  /* suspicion */
    c.passes++; /* scan */
    return c;
}

/* bytes of the log; every pass is counted at its largest */
static size_t aggi_log_size(const agg_desc *d, size_t slices, aggi_arena *a) {
    const aggi_course c = aggi_course_of(d);
    const size_t n = d->n, sums = sizeof(double) * (slices * n + 2 * n + 1), status = 2 * 64;
    aggi_arena log = aggi_arena_make(NULL, 0);
    (void)aggi_take(&log, c.pairs, n * AGGI_PACKED * sizeof(agg_real));
    (void)aggi_take(&log, 11 * c.pairs, c.pairs ? aggi_gram_sums(n) * sizeof(double) + status : 0);
    (void)aggi_take(&log, 8 * c.roots, (n + 1) * sizeof(agg_real));
    (void)aggi_take(&log, 3 * c.roots + c.passes, sums + status);
    if (aggi_needs(d) & AGGI_TRUSTED) (void)aggi_take(&log, slices * n, 8 * sizeof(double));
    a->bad |= log.bad;
    return log.used;
}

/* whole grains, or all of a short row */
static size_t aggi_window_width(const agg_desc *d, size_t window) {
    return window >= d->dim ? d->dim : window / AGGI_GRAIN * AGGI_GRAIN;
}

/* NULL: only counts, in `counted` */
static agg_stages *aggi_stages_layout(const agg_desc *d, size_t window, aggi_arena *a,
                                      agg_stages *counted) {
    const size_t n = d->n;
    size_t i;
    agg_stages *real = (agg_stages *)aggi_take(a, 1, sizeof *real), *st = real ? real : counted;
    memset(st, 0, sizeof *st);
    st->desc = *d;
    st->desc.jobs.run = NULL;
    aggi_call_begin(&st->c, &st->desc, window, a);
    if (a->bad) return NULL;
    st->drawn = (uint64_t *)aggi_take(a, 2 * n, sizeof *st->drawn);
    st->sent = aggi_take_rows(a, n);
    st->row = (agg_real *)aggi_take(a, n, window * sizeof *st->row);
    st->decision.weight = aggi_take_f64(a, n);
    st->x = aggi_take_rows(a, n);
    st->slot = (aggi_slot *)aggi_take(a, 5 * n + 8, sizeof *st->slot);
    st->mixed = (int *)aggi_take(a, st->c.slices, sizeof *st->mixed);
    aggi_terms_layout(&st->terms, a, n + 1, window);
    st->given[0] = d->start;
    st->given[1] = d->trusted;
    for (i = 0; i < 2; i++)
        if (st->given[i]) st->shown[i] = aggi_take_real(a, window);
    st->desc.start = st->shown[0];
    st->desc.trusted = st->shown[1];
    st->log = (unsigned char *)aggi_take(a, aggi_log_size(d, st->c.slices, a), 1);
    return real;
}

/* every check before a row is looked at */
static agg_status aggi_stages_valid(const agg_desc *d, size_t window) {
    aggi_complaint unsaid;
    const agg_status valid = aggi_validate(d, &unsaid);
    if (valid != AGG_OK) return valid;
    if (!aggi_rules[d->rule].course.passes) return AGG_ERR_STAGES;
    return aggi_window_width(d, window) ? AGG_OK : AGG_ERR_ARG;
}

AGG_API size_t agg_stages_size(const agg_desc *d, size_t window) {
    aggi_arena a = aggi_arena_make(NULL, 0);
    agg_stages counted;
    if (aggi_stages_valid(d, window) != AGG_OK) return 0;
    (void)aggi_stages_layout(d, aggi_window_width(d, window), &a, &counted);
    return aggi_arena_size(&a);
}

/* the rows given must be finite: they are the host's own */
static agg_status aggi_stages_trust(const agg_desc *d) {
    if (d->rule == AGG_CCLIP && d->start && !aggi_all_finite(d->start, d->dim)) return AGG_ERR_ARG;
    return aggi_trusts_other(d) && !aggi_all_finite(d->trusted, d->dim) ? AGG_ERR_PIVOT : AGG_OK;
}

/* everything else in its place */
static void aggi_stages_fill(agg_stages *st, const unsigned char *missing, agg_report *report) {
    size_t i;
    st->rng = st->desc.rng;
    st->desc.rng.next = aggi_stages_draw;
    st->desc.rng.self = st;
    for (i = 0; i < st->desc.n; i++)
        st->sent[i] = missing && missing[i] ? NULL : agg_stages_row(st, i);
    st->report = report;
    aggi_report_begin(&st->c, report, aggi_count_late(&st->desc));
    st->c.window.stages = st;
    st->fresh = st->c;
}

AGG_API agg_status agg_stages_begin(agg_stages **stages, const agg_desc *d, size_t window,
                                    const unsigned char *missing, agg_report *report, void *memory,
                                    size_t size) {
    aggi_arena a = aggi_arena_make(memory, size);
    agg_status status = aggi_stages_valid(d, window);
    aggi_complaint unsaid;
    agg_stages unused, *st;
    size_t need;
    if (status != AGG_OK) return status;
    if (!stages || !memory) return AGG_ERR_ARG;
    status = aggi_check_rows(d, d->n - aggi_count_late(d), &need, &unsaid);
    if (status == AGG_OK) status = aggi_stages_trust(d);
    if (status != AGG_OK) return status;
    need = agg_stages_size(d, window);
    if (!need) return AGG_ERR_SIZE;
    if (size < need) return AGG_ERR_SCRATCH;
    st = aggi_stages_layout(d, aggi_window_width(d, window), &a, &unused);
    AGG_ASSERT(st && st->log);
    aggi_stages_fill(st, missing, report);
    *stages = st;
    return AGG_OK;
}

/* ---- a pass */

AGG_API size_t agg_slices(size_t n, size_t dim) { return aggi_slices(n, dim); }

AGG_API size_t agg_slice_begin(size_t n, size_t dim, size_t s) {
    const size_t slices = aggi_slices(n, dim);
    return aggi_slice_of(dim, slices, s < slices ? s : slices);
}

AGG_API size_t agg_stages_parts(const agg_stages *st) { return st->pending ? st->parts : 0; }

AGG_API void agg_stages_part(const agg_stages *st, size_t part, size_t *at, size_t *width) {
    *at = st->width ? part * st->step : aggi_slice_of(st->c.dim, st->c.slices, part);
    *width = st->width ? st->width : aggi_slice_of(st->c.dim, st->c.slices, part + 1) - *at;
}

AGG_API agg_real *agg_stages_row(const agg_stages *st, size_t i) {
    return st->row + i * st->c.stride;
}

/* the numbers of a row that is missing */
static void aggi_fill_nan(agg_real *to, size_t width) {
    size_t k;
    for (k = 0; k < width; k++) to[k] = (agg_real)aggi_from_bits(AGGI_NAN);
}

/* the call's pointers go to these rows */
static void aggi_stages_load(agg_stages *st, size_t at, size_t width, const agg_real *const *rows) {
    size_t i;
    for (i = 0; i < st->desc.n; i++)
        if (!rows[i]) aggi_fill_nan(agg_stages_row(st, i), width);
    for (i = 0; i < st->slots; i++) {
        const size_t row = st->slot[i].row;
        *st->slot[i].at = rows[row] ? rows[row] : agg_stages_row(st, row);
    }
    st->c.terms.dim = st->terms.dim = width;
    for (i = 0; i < 2; i++)
        if (st->given[i]) memcpy(st->shown[i], st->given[i] + at, width * sizeof *st->shown[i]);
}

/* the rows that pre-aggregations make of those at hand */
static void aggi_stages_mix(const agg_stages *st) {
    aggi_call c = st->c;
    size_t i;
    if (!c.mix[0].ready && !c.mix[1].ready) return;
    c.window.slice = 0;
    c.window.goes_on = 0;
    c.x = st->x;
    c.terms = st->terms;
    c.status = st->mixed;
    c.n = c.sent.n;
    for (i = 0; i < c.n; i++) c.x[i] = c.sent.row[i];
    for (i = 0; i < 2; i++)
        if (c.mix[i].ready) (void)aggi_play_mix(&c, &c.mix[i]);
}

/* is that the next window of the part? */
static int aggi_stages_expects(const agg_stages *st, size_t part, size_t at, size_t width) {
    size_t begin, all;
    if (part >= agg_stages_parts(st) || at != st->done[part] || !width) return 0;
    agg_stages_part(st, part, &begin, &all);
    if (width > st->c.stride || width > begin + all - at) return 0;
    return width % AGGI_GRAIN == 0 || at + width == begin + all;
}

AGG_API agg_status agg_stages_add(agg_stages *st, size_t part, size_t at, size_t width,
                                  const agg_real *const *rows, agg_real *out) {
    aggi_at_hand *w = &st->c.window;
    size_t begin, all;
    if (!rows || !out || !aggi_stages_expects(st, part, at, width)) return AGG_ERR_ARG;
    st->done[part] += width;
    if (!st->width && st->c.status[part]) return AGG_OK; /* no more is to be found */
    agg_stages_part(st, part, &begin, &all);
    aggi_stages_load(st, at, width, rows);
    memcpy(st->c.out, out, width * sizeof *out);
    w->inside = 1;
    w->slice = part;
    w->width = width;
    w->goes_on = at > begin;
    aggi_stages_mix(st);
    st->task.job(st->task.arg, part);
    w->inside = w->goes_on = 0;
    memcpy(out, st->c.out, width * sizeof *out);
    return AGG_OK;
}

AGG_API size_t agg_stages_sums_size(const agg_stages *st) {
    return st->pending ? sizeof(double) + st->task.bytes : 0;
}

AGG_API void agg_stages_get(const agg_stages *st, size_t part, void *sums) {
    double status;
    if (part >= agg_stages_parts(st)) return;
    status = st->width ? 0 : (double)st->c.status[part];
    memcpy(sums, &status, sizeof status);
    memcpy((unsigned char *)sums + sizeof status,
           (const unsigned char *)st->task.left + part * st->task.bytes, st->task.bytes);
}

AGG_API void agg_stages_put(agg_stages *st, size_t part, const void *sums) {
    size_t begin, all;
    double status;
    if (part >= agg_stages_parts(st)) return; /* its number may have come over a wire */
    memcpy(&status, sums, sizeof status);
    if (!st->width) st->c.status[part] = status < 0 ? AGGI_NOT_FINITE : AGG_OK;
    memcpy((unsigned char *)st->task.left + part * st->task.bytes,
           (const unsigned char *)sums + sizeof status, st->task.bytes);
    agg_stages_part(st, part, &begin, &all);
    st->done[part] = begin + all;
}

/* is every part added or put? */
static int aggi_stages_complete(const agg_stages *st) {
    size_t p, begin, all;
    for (p = 0; p < st->parts; p++) {
        agg_stages_part(st, p, &begin, &all);
        if (st->done[p] != begin + all) return 0;
    }
    return 1;
}

AGG_API agg_status agg_stages_decide(agg_stages *st) {
    int status;
    if (st->ended) return (agg_status)st->status;
    if (st->pending && !aggi_stages_complete(st)) return AGG_ERR_ARG;
    if (st->pending) aggi_stages_commit(st);
    st->c = st->fresh;
    st->at = st->draws = 0;
    aggi_collect(&st->c, st->sent);
    if (st->c.picked.row) memset(st->c.picked.row, 0, (st->desc.n + 1) * sizeof *st->c.picked.row);
    status = aggi_report(&st->c, aggi_aggregate(&st->c), st->report);
    if (status == AGGI_PENDING) return AGG_MORE;
    st->ended = 1;
    st->status = status;
    return (agg_status)status;
}

/* ---- 16 what a host can ask ------------------------------------------------------------------ */

AGG_API const char *agg_status_text(agg_status s) {
#define AGG_X(id, text) text,
    static const char *const texts[] = {AGG_STATUS_LIST(AGG_X)};
#undef AGG_X
    return (unsigned)s < AGG_STATUS_COUNT ? texts[s] : "unknown status";
}

AGG_API const char *agg_rule_name(agg_rule rule) {
    return aggi_is_rule(rule) ? aggi_rules[rule].name : "unknown rule";
}

AGG_API const char *agg_rule_cost(agg_rule rule) {
    return aggi_is_rule(rule) ? aggi_rules[rule].cost : "unknown rule";
}

AGG_API const char *agg_pre_name(agg_pre pre) {
    return aggi_is_pre(pre) ? aggi_pres[pre].name : "unknown pre-aggregation";
}

AGG_API int agg_rule_is_order_optimal(agg_rule rule) {
    return aggi_is_rule(rule) && aggi_rules[rule].order_optimal;
}

AGG_API size_t agg_max_f(agg_rule rule, size_t n) {
    const aggi_bound *bound;
    if (!aggi_is_rule(rule) || (aggi_rules[rule].needs & AGGI_BASELINE)) return 0;
    bound = &aggi_rules[rule].bound;
    return n < bound->b ? 0 : (n - bound->b) / bound->a;
}

AGG_API double agg_lambda(agg_rule rule, size_t n, size_t f, size_t dim) {
    if (!aggi_is_rule(rule) || !aggi_rules[rule].lambda) return -1;
    if (!n || f > agg_max_f(rule, n)) return aggi_infinity();
    return aggi_rules[rule].lambda((double)n, (double)f, (double)dim);
}

AGG_API double agg_sample_complexity(agg_rule rule, double eps, size_t n, size_t f, size_t dim) {
    const double lambda = agg_lambda(rule, n, f, dim);
    if (lambda < 0) return -1;
    if (!(eps > 0) || !aggi_finite(lambda)) return aggi_infinity();
    return aggi_max(0, -aggi_log(eps)) / (eps * eps) *
           (1 / (double)n + lambda * lambda * aggi_log((double)n));
}

/* Rows as agg_resilience() has them, and the set G of those in question. */
typedef struct aggi_honest_set {
    const agg_real *const *row;
    size_t n, dim;
    uint64_t set; /* bit i: row i is in G */
} aggi_honest_set;

/* A sum of squares of any numbers in three parts by their size (Blue 1978): huge ones are summed
   2^-600 times as large, tiny ones 2^600 times. */
typedef struct aggi_norm {
    double huge_part, fair, tiny;
} aggi_norm;

/* adds v^2; shrunk: 2^-600 v, made so that it is finite even where v is not; grown: 2^600 v, made
   so that it has the bits that v has no room for, or not finite */
static void aggi_norm_add(aggi_norm *sum, double v, double shrunk, double grown) {
    const double most = aggi_pow2(480), least = aggi_pow2(-480);
    if (!aggi_finite(v) || aggi_abs(v) > most)
        sum->huge_part += aggi_squared(shrunk);
    else if (aggi_abs(v) < least)
        sum->tiny += aggi_squared(aggi_finite(grown) ? grown : v * aggi_pow2(600));
    else
        sum->fair += aggi_squared(v);
}

/* the fourth root of the sum; a part next to a larger one adds what it has of weight there */
static double aggi_norm_root(const aggi_norm *sum) {
    if (sum->huge_part > 0)
        return aggi_root0(aggi_root0(sum->huge_part + aggi_scaled(sum->fair, -1200))) *
               aggi_pow2(300);
    if (sum->fair > 0) return aggi_root0(aggi_root0(sum->fair + aggi_scaled(sum->tiny, -1200)));
    return aggi_root0(aggi_root0(sum->tiny)) * aggi_pow2(-300);
}

/* number k of (out - mean_G) x shrink x grow */
static double aggi_set_off(const aggi_honest_set *g, const agg_real *out, size_t k, double shrink,
                           double grow) {
    const double count = (double)aggi_popcount(g->set);
    const double base = (double)g->row[aggi_lowest(g->set)][k] * shrink;
    double off = ((double)out[k] * shrink - base) * grow;
    size_t i;
    for (i = 0; i < g->n; i++)
        if (g->set >> i & 1) off -= ((double)g->row[i][k] * shrink - base) * grow / count;
    return off;
}

/* sqrt(||out - mean_G||) */
static double aggi_set_error(const aggi_honest_set *g, const agg_real *out) {
    const double shrink = aggi_pow2(-600), grow = aggi_pow2(600);
    aggi_norm sum = {0, 0, 0};
    size_t k;
    for (k = 0; k < g->dim; k++)
        aggi_norm_add(&sum, aggi_set_off(g, out, k, 1, 1), aggi_set_off(g, out, k, shrink, 1),
                      aggi_set_off(g, out, k, 1, grow));
    return aggi_norm_root(&sum);
}

/* sqrt(||a - b||) */
static double aggi_root(const agg_real *a, const agg_real *b, size_t dim) {
    const double shrink = aggi_pow2(-600), grow = aggi_pow2(600);
    aggi_norm sum = {0, 0, 0};
    size_t k;
    for (k = 0; k < dim; k++) {
        const double x = (double)a[k], y = (double)b[k];
        aggi_norm_add(&sum, x - y, x * shrink - y * shrink, (x - y) * grow);
    }
    return aggi_norm_root(&sum);
}

/* root of the largest distance within G */
static double aggi_set_diameter(const aggi_honest_set *g) {
    double most = 0;
    size_t i, j;
    for (i = 0; i < g->n; i++)
        for (j = 0; j < i; j++)
            if (g->set >> i & g->set >> j & 1)
                most = aggi_max(most, aggi_root(g->row[i], g->row[j], g->dim));
    return most;
}

/* Gosper: the next larger number with as many ones */
static uint64_t aggi_next_set(uint64_t set) {
    const uint64_t low = set & (~set + 1), up = set + low;
    return ((up ^ set) >> 2) / low | up;
}

AGG_API agg_status agg_resilience(const agg_real *const *rows, size_t n, size_t dim, size_t f,
                                  const agg_real *out, double *ratio, uint64_t *worst) {
    aggi_honest_set g;
    double most = -1;
    size_t i;
    if (!rows || !out || !ratio || !n || !dim || n > 63) return AGG_ERR_ARG;
    if (f > (n - 1) / 2) return AGG_ERR_BOUND;
    for (i = 0; i < n; i++)
        if (!rows[i] || !aggi_all_finite(rows[i], dim)) return AGG_ERR_ROWS;
    if (!aggi_all_finite(out, dim)) return AGG_ERR_ARG;
    g.row = rows;
    g.n = n;
    g.dim = dim;
    for (g.set = ((uint64_t)1 << (n - f)) - 1; g.set >> n == 0; g.set = aggi_next_set(g.set)) {
        const double error = aggi_set_error(&g, out), diameter = aggi_set_diameter(&g);
        const double apart = diameter > 0 ? aggi_ratio(error, diameter) : aggi_infinity();
        const double here = error > 0 ? apart : 0;
        if (!(here > most)) continue;
        most = here;
        if (worst) *worst = g.set;
    }
    *ratio = most;
    return AGG_OK;
}

/* ---- 17 attacks ------------------------------------------------------------------------------ */

/* What the adversary knows while it makes number k of its row. */
typedef struct aggi_adversary {
    const agg_attack_desc *desc;
    const agg_real *const *honest;
    const agg_real *own;
    size_t honest_n, dim;
    double s;                     /* strength */
    double mine, mean, deviation; /* of number k: own, honest mean and standard deviation */
    double size;                  /* what prepare() found out about all numbers */
    size_t left;                  /* numbers still to be dropped */
} aggi_adversary;

/* Acklam's rational approximation, 1e-9: enough for attacks */
static double aggi_normal_quantile(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1.0};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1.0};
    double num = 0, den = 0, x;
    int i;
    if (p > 0.5) return -aggi_normal_quantile(1 - p);
    p = aggi_max(p, 1e-300);
    if (p < 0.02425) {
        x = aggi_root0(-2 * aggi_log(p));
        for (i = 0; i < 6; i++) num = num * x + c[i];
        for (i = 0; i < 5; i++) den = den * x + d[i];
        return num / den;
    }
    x = p - 0.5;
    for (i = 0; i < 6; i++) num = num * x * x + a[i];
    for (i = 0; i < 6; i++) den = den * x * x + b[i];
    return x * num / den;
}

/* (0,1), never an end */
static double aggi_uniform(const agg_rng *rng) { return (aggi_draw53(rng) + 0.5) * AGGI_ULP53; }

/* all rows and adversaries, 0: unknown */
static size_t aggi_total(const agg_attack_desc *a) { return a->n || !a->rule ? a->n : a->rule->n; }

static size_t aggi_bad(const agg_attack_desc *a) { return a->f || !a->rule ? a->f : a->rule->f; }

/* mean, deviation and mine of number k */
static void aggi_look(aggi_adversary *a, int reads, size_t k);

static double aggi_strength(const agg_attack_desc *a);

static double aggi_flip(aggi_adversary *a, size_t k) {
    (void)k;
    return -a->s * a->mine;
}

static double aggi_noise(aggi_adversary *a, size_t k) {
    (void)k;
    return a->mine + a->s * a->size * (2 * aggi_uniform(&a->desc->rng) - 1);
}

static double aggi_gauss(aggi_adversary *a, size_t k) {
    (void)k;
    return a->mine + a->s * aggi_normal_quantile(aggi_uniform(&a->desc->rng));
}

static double aggi_zero(aggi_adversary *a, size_t k) {
    (void)a;
    (void)k;
    return 0;
}

static double aggi_ipm(aggi_adversary *a, size_t k) {
    (void)k;
    return -a->s * a->mean;
}

static double aggi_alie(aggi_adversary *a, size_t k) {
    (void)k;
    return a->mean - a->s * a->deviation;
}

static double aggi_mimic(aggi_adversary *a, size_t k) {
    return (double)a->honest[a->desc->target][k];
}

static double aggi_inf(aggi_adversary *a, size_t k) {
    (void)a;
    return k % 2 ? -aggi_infinity() : aggi_infinity();
}

static double aggi_nan(aggi_adversary *a, size_t k) {
    (void)a;
    (void)k;
    return aggi_from_bits(AGGI_NAN);
}

/* beyond the honest numbers, on the side that the mean is not on */
static double aggi_fang_trim(aggi_adversary *a, size_t k) {
    const double b = 1 + (a->s - 1) * aggi_uniform(&a->desc->rng);
    const double side = a->mean < 0 ? -1 : 1;
    double end = side * (double)a->honest[0][k];
    size_t i;
    for (i = 1; i < a->honest_n; i++) end = aggi_min(end, side * (double)a->honest[i][k]);
    return aggi_clamp(side * (end > 0 ? end / b : end * b));
}

static double aggi_avg_zero(aggi_adversary *a, size_t k) {
    const double n = (double)aggi_total(a->desc), f = (double)aggi_bad(a->desc);
    (void)k;
    return aggi_clamp(-a->s * a->mean * ((n - f) / f));
}

static double aggi_large_noise(aggi_adversary *a, size_t k) {
    (void)k;
    return aggi_clamp(a->s * (2 * aggi_uniform(&a->desc->rng) - 1));
}

/* every set of as many numbers is equally likely (Knuth's algorithm S) */
static double aggi_partial_drop(aggi_adversary *a, size_t k) {
    const double rest = (double)(a->dim - k);
    if (!(aggi_uniform(&a->desc->rng) * rest < (double)a->left)) return a->mine;
    a->left--;
    return 0;
}

static double aggi_blind_ipm(aggi_adversary *a, size_t k) {
    return a->size > 0 ? aggi_clamp(-a->s * a->size * (double)a->desc->step[k]) : a->mine;
}

/* What an attack looks at. */
enum {
    AGGI_OWN = 1,          /* own, and if there is none the honest mean */
    AGGI_HONEST = 4,       /* mean and deviation of the honest rows */
    AGGI_TARGET = 8,       /* honest row desc.target */
    AGGI_RANDOM = 16,      /* desc.rng */
    AGGI_MAJORITY = 32,    /* n and f, unless a strength is given */
    AGGI_CROWD = 64,       /* n and f, 0 < f < n */
    AGGI_MINORITY = 128,   /* n and f, 0 < f < n/2 */
    AGGI_UNDER_FIRE = 256, /* desc.rule */
    AGGI_REMEMBERS = 512,  /* desc.memory */
    AGGI_CONVICTS = 1024   /* not finite: it only gets its sender dropped */
};

/* max own - min own */
static void aggi_prepare_range(aggi_adversary *a) {
    double low = DBL_MAX, high = -DBL_MAX;
    size_t k;
    for (k = 0; k < a->dim; k++) {
        aggi_look(a, AGGI_OWN, k);
        low = aggi_min(low, a->mine);
        high = aggi_max(high, a->mine);
    }
    a->size = high - low;
}

static void aggi_prepare_drop(aggi_adversary *a) {
    a->left = (size_t)(aggi_max(0, aggi_min(a->s, 1)) * (double)a->dim);
}

/* size = ||own|| / ||step||; 0: there is no step, or one of them is not finite */
static void aggi_prepare_blind(aggi_adversary *a) {
    aggi_norm own = {0, 0, 0}, step = {0, 0, 0};
    const double shrink = aggi_pow2(-600), grow = aggi_pow2(600);
    double ratio;
    size_t k;
    for (k = 0; a->desc->step && k < a->dim; k++) {
        const double v = (double)a->desc->step[k];
        aggi_look(a, AGGI_OWN, k);
        aggi_norm_add(&own, a->mine, a->mine * shrink, a->mine * grow);
        aggi_norm_add(&step, v, v * shrink, v * grow);
    }
    ratio = aggi_ratio(aggi_norm_root(&own), aggi_norm_root(&step));
    a->size = aggi_finite(ratio) ? ratio : 0;
}

/* The work of an attack that makes whole rows and may try them on the rule. What is double is in
   units of `unit`, a power of two near the largest honest number, so that no square overflows. */
typedef struct aggi_plot {
    const agg_attack_desc *desc;
    const agg_real *own;
    size_t n, f, dim;
    const agg_real **seen; /* the rows seen that are finite */
    size_t seen_n;
    const agg_real **team; /* some of them: see aggi_choose_team() */
    size_t team_n;
    double unit;
    double *mean, *deviation;
    double mean_norm, typical; /* ||m||, mean of ||x_i|| */
    const double *center;      /* x = center + t to, to of norm 1 */
    double *to, *hidden;       /* hidden: the mean of the team */
    double aside;              /* m . center / ||center||^2 */
    double *before;            /* what the rule makes of the honest mean */
    size_t which;              /* of `seen`: AGGI_TO_ROW */
    double *key;               /* honest_n: norms, distances, weights */
    aggi_item *item;           /* 2 honest_n */
    agg_real *row, *kept, *best;
    double kept_value, best_value;
    /* the rule */
    agg_desc rule;
    const agg_real **rows; /* n: seen rows in turn, then row f times */
    agg_real *result;
    void *scratch;
    size_t scratch_size;
    double cosine, distance; /* of the last try */
    agg_attack_outcome found;
} aggi_plot;

/* ---- directions */

static double aggi_sign(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

static double aggi_to_mean(const aggi_plot *p, size_t k) { return -p->mean[k]; }

static double aggi_to_deviation(const aggi_plot *p, size_t k) { return -p->deviation[k]; }

static double aggi_to_sign(const aggi_plot *p, size_t k) { return -aggi_sign(p->mean[k]); }

/* -m without its part along the center */
static double aggi_to_aside(const aggi_plot *p, size_t k) {
    return p->aside * p->center[k] - p->mean[k];
}

static double aggi_to_before(const aggi_plot *p, size_t k) { return -p->before[k]; }

static double aggi_to_above(const aggi_plot *p, size_t k) { return p->deviation[k]; }

/* a deviation, each number away from the side that its mean is on */
static double aggi_to_against(const aggi_plot *p, size_t k) {
    return -aggi_sign(p->mean[k]) * p->deviation[k];
}

/* the honest number farthest on the other side */
static double aggi_to_edge(const aggi_plot *p, size_t k) {
    const double side = p->mean[k] < 0 ? -1 : 1;
    double end = side * p->mean[k];
    size_t i;
    for (i = 0; i < p->seen_n; i++) end = aggi_min(end, side * (double)p->seen[i][k] / p->unit);
    return side * end - p->mean[k];
}

static double aggi_to_row(const aggi_plot *p, size_t k) {
    return (double)p->seen[p->which][k] / p->unit - p->mean[k];
}

static double aggi_to_best(const aggi_plot *p, size_t k) {
    return (double)p->best[k] / p->unit - p->mean[k];
}

/* the first of them as in agg_attack_direction */
enum {
    AGGI_TO_ASIDE = AGG_DIRECTION_COUNT,
    AGGI_TO_BEFORE,
    AGGI_TO_ABOVE,
    AGGI_TO_AGAINST,
    AGGI_TO_EDGE,
    AGGI_TO_BEST,
    AGGI_TO_ROW /* and those after it: the rows */
};

static double (*const aggi_directions[])(const aggi_plot *p, size_t k) = {
    NULL,          aggi_to_mean,    aggi_to_deviation, aggi_to_sign, aggi_to_aside, aggi_to_before,
    aggi_to_above, aggi_to_against, aggi_to_edge,      aggi_to_best, aggi_to_row};

static double aggi_norm2(const double *v, size_t dim) {
    double sum = 0;
    size_t k;
    for (k = 0; k < dim; k++) sum += aggi_squared(v[k]);
    return sum;
}

/* v of norm 1; returns what it was, 0: v is nothing but rounding beside `beside` */
static double aggi_make_unit(double *v, size_t dim, double beside) {
    const double norm = aggi_root0(aggi_norm2(v, dim));
    size_t k;
    if (!(norm > 1e-12 * beside)) return 0;
    for (k = 0; k < dim; k++) v[k] /= norm;
    return norm;
}

/* to = the direction, of norm 1; returns its own norm, 0: there is none */
static double aggi_aim(aggi_plot *p, size_t direction) {
    const size_t rows = AGGI_TO_ROW, d = direction < rows ? direction : rows;
    size_t k;
    p->which = direction - d;
    if (d == AGGI_TO_ASIDE)
        p->aside = aggi_dot(p->mean, p->center, p->dim) / aggi_norm2(p->center, p->dim);
    if (!aggi_finite(p->aside)) p->aside = 0;
    for (k = 0; k < p->dim; k++) p->to[k] = aggi_directions[d](p, k);
    return aggi_make_unit(p->to, p->dim, p->mean_norm);
}

/* row = from + t to */
static void aggi_put(aggi_plot *p, const double *from, double t) {
    size_t k;
    for (k = 0; k < p->dim; k++)
        p->row[k] = (agg_real)aggi_clamp((from[k] + t * p->to[k]) * p->unit);
}

static void aggi_put_row(aggi_plot *p, const agg_real *row) {
    memcpy(p->row, row, p->dim * sizeof *row);
}

/* ---- trying a row on the rule */

/* a power of two near the largest of the numbers, and of `least` */
static double aggi_unit(const agg_real *x, size_t dim, double least) {
    size_t k;
    for (k = 0; k < dim; k++) least = aggi_max(least, aggi_abs((double)x[k]));
    return aggi_pow2(aggi_exponent(least));
}

/* cosine (0 if one of them is 0) of the result to v, and their distance */
static double aggi_compare_result(const aggi_plot *p, const double *v, double *distance) {
    const double unit = aggi_unit(p->result, p->dim, p->unit), scale = p->unit / unit;
    double dot = 0, norm = 0, off = 0, length;
    size_t k;
    for (k = 0; k < p->dim; k++) {
        const double r = (double)p->result[k] / unit;
        dot += r * v[k];
        norm += r * r;
        off += aggi_squared(r - v[k] * scale);
    }
    *distance = aggi_root0(off) * unit;
    length = aggi_root0(norm) * aggi_root0(aggi_norm2(v, p->dim));
    return length > 0 ? aggi_max(-1, aggi_min(dot / length, 1)) : 0;
}

/* how strong the last try was */
static double aggi_success(const aggi_plot *p) {
    return p->desc->by_distance ? p->distance : -p->cosine;
}

/* what the rule makes of row; the strongest row of all is kept in best */
static double aggi_try(aggi_plot *p) {
    const agg_status s =
        p->rule.n && aggi_all_finite(p->row, p->dim)
            ? agg_aggregate(&p->rule, p->rows, p->result, p->scratch, p->scratch_size, NULL)
            : AGG_ERR_ARG;
    p->cosine = 1;
    p->distance = 0;
    if (s > AGG_INEXACT) return -2; /* weaker than anything */
    p->found.evaluations++;
    p->cosine = aggi_compare_result(p, p->mean, &p->distance);
    if (aggi_success(p) > p->best_value) {
        p->best_value = aggi_success(p);
        p->found.cosine = p->cosine;
        p->found.distance = p->distance;
        p->found.kind = p->desc->kind;
        memcpy(p->best, p->row, p->dim * sizeof *p->row);
    }
    return aggi_success(p);
}

/* the strongest row of one attack, by its own measure */
static int aggi_keep(aggi_plot *p, double value) {
    if (!(value > p->kept_value)) return 0;
    p->kept_value = value;
    memcpy(p->kept, p->row, p->dim * sizeof *p->row);
    return 1;
}

/* ---- attacks that stay inside */

/* squared distance of center to row i of the team; along: its part along to */
static double aggi_apart(const aggi_plot *p, size_t i, double *along) {
    double sum = 0;
    size_t k;
    *along = 0;
    for (k = 0; k < p->dim; k++) {
        const double off = p->center[k] - (double)p->team[i][k] / p->unit;
        sum += off * off;
        *along += off * p->to[k];
    }
    return sum;
}

/* squared distance of two rows seen */
static double aggi_seen_apart(const aggi_plot *p, const agg_real *a, const agg_real *b) {
    double sum = 0;
    size_t k;
    for (k = 0; k < p->dim; k++)
        sum += aggi_squared((double)a[k] / p->unit - (double)b[k] / p->unit);
    return sum;
}

/* of the team, squared */
static double aggi_team_diameter(const aggi_plot *p) {
    double most = 0;
    size_t i, j;
    for (i = 0; i < p->team_n; i++)
        for (j = 0; j < i; j++) most = aggi_max(most, aggi_seen_apart(p, p->team[i], p->team[j]));
    return most;
}

/* The largest t with center + t to within the diameter of every row of the team: the positive root
   of t^2 + 2 b t = room, least over the rows. */
static double aggi_reach_all(const aggi_plot *p) {
    const double diameter = aggi_team_diameter(p);
    double least = 4 * aggi_root0(diameter), b;
    size_t i;
    for (i = 0; i < p->team_n; i++) {
        const double room = aggi_max(0, diameter - aggi_apart(p, i, &b));
        const double root = aggi_root0(b * b + room);
        least = aggi_min(least, b > 0 ? room / (b + root) : root - b);
    }
    return least;
}

/* The largest t with sum_i ||m + t to - x_i||^2 <= the least such sum of a row, which is t^2 <= the
   least ||x_j - m||^2: both sums are sum_i ||x_i - m||^2 and n times the square. */
static double aggi_reach_sum(const aggi_plot *p) {
    double least = DBL_MAX, b;
    size_t i;
    for (i = 0; i < p->team_n; i++) least = aggi_min(least, aggi_apart(p, i, &b));
    return aggi_root0(least);
}

/* center + t to, for the direction asked for, or the strongest; `usual` if nothing can be tried */
static void aggi_stay_inside(aggi_plot *p, double (*reach)(const aggi_plot *p), size_t usual) {
    const size_t asked = p->desc->direction ? (size_t)p->desc->direction : p->rule.n ? 0 : usual;
    size_t d;
    memset(p->to, 0, p->dim * sizeof *p->to);
    aggi_put(p, p->center, 0);
    (void)aggi_keep(p, -3);
    for (d = 1; d <= AGGI_TO_ASIDE; d++) {
        if ((asked && d != asked) || !(aggi_aim(p, d) > 0)) continue;
        aggi_put(p, p->center, (1 - 1e-5) * reach(p)); /* rounding must not carry it out */
        (void)aggi_keep(p, aggi_try(p));
    }
    aggi_put_row(p, p->kept);
}

static void aggi_min_max(aggi_plot *p) { aggi_stay_inside(p, aggi_reach_all, AGG_DIRECTION_MEAN); }

static void aggi_min_sum(aggi_plot *p) { aggi_stay_inside(p, aggi_reach_sum, AGG_DIRECTION_MEAN); }

/* how many of the rows seen a rule keeps that takes n-f of n, when f of them are adversaries' */
static size_t aggi_company(const aggi_plot *p) {
    const size_t keep =
        (size_t)((double)p->seen_n * (double)(p->n - 2 * p->f) / (double)(p->n - p->f));
    return keep ? keep : 1;
}

/* Team = the company of least diameter, as MDA finds it. Nobody attacks here, so f may be large. */
static void aggi_choose_team(aggi_plot *p) {
    agg_desc d = agg_make_desc(AGG_MDA, p->seen_n, p->dim, p->seen_n - aggi_company(p));
    aggi_call c;
    size_t i;
    (void)aggi_begin(&c, &d, p->scratch, p->scratch_size);
    c.report.weight = p->key;
    aggi_collect(&c, p->seen);
    (void)aggi_aggregate(&c);
    aggi_report_weights(&c);
    p->team_n = 0;
    for (i = 0; i < p->seen_n; i++)
        if (p->key[i] > 0) p->team[p->team_n++] = p->seen[i];
}

static void aggi_mda_fooling(aggi_plot *p) {
    size_t i, k;
    aggi_choose_team(p);
    for (k = 0; k < p->dim; k++) {
        p->hidden[k] = 0;
        for (i = 0; i < p->team_n; i++)
            p->hidden[k] += (double)p->team[i][k] / p->unit / (double)p->team_n;
    }
    p->center = p->hidden;
    aggi_stay_inside(p, aggi_reach_all, AGGI_TO_ASIDE);
}

/* key[i] = norm of row i seen; item: in ascending order */
static void aggi_rank_norms(aggi_plot *p) {
    size_t i, k;
    for (i = 0; i < p->seen_n; i++) {
        p->key[i] = 0;
        for (k = 0; k < p->dim; k++) p->key[i] += aggi_squared((double)p->seen[i][k] / p->unit);
        p->key[i] = aggi_root0(p->key[i]);
    }
    aggi_rank(p->item, p->key, p->seen_n, p->seen_n);
}

static void aggi_anti_cge(aggi_plot *p) {
    const size_t keep = aggi_company(p), first = keep < p->seen_n ? keep : p->seen_n - 1;
    size_t i, k;
    aggi_rank_norms(p);
    for (k = 0; k < p->dim; k++) {
        p->to[k] = 0;
        for (i = 0; i < keep; i++) p->to[k] -= (double)p->seen[p->item[i].index][k] / p->unit;
        p->hidden[k] = 0;
    }
    (void)aggi_make_unit(p->to, p->dim, 0);
    aggi_put(p, p->hidden, (1 - 1e-5) * p->item[first].key);
}

/* ---- attacks on one rule */

/* sum of the distances of row i seen to its count nearest others */
static double aggi_krum_sum(aggi_plot *p, size_t i, size_t count) {
    double sum = 0;
    size_t j;
    for (j = 0; j < p->seen_n; j++)
        p->key[j] = aggi_root0(aggi_seen_apart(p, p->seen[i], p->seen[j]));
    aggi_rank(p->item, p->key, p->seen_n, i);
    for (j = 1; j <= count && j < p->seen_n; j++) sum += p->item[j].key;
    return sum;
}

/* where L starts */
static double aggi_fang_start(aggi_plot *p) {
    const size_t nearest = p->n - p->f - 2, spare = p->n - 2 * p->f - 1;
    const double root = aggi_root0((double)p->dim);
    double least = DBL_MAX;
    size_t i;
    for (i = 0; i < p->seen_n; i++) least = aggi_min(least, aggi_krum_sum(p, i, nearest));
    aggi_rank_norms(p);
    return (least / (double)(spare ? spare : 1) + p->item[p->seen_n - 1].key) / root;
}

static int aggi_equal_rows(const agg_real *a, const agg_real *b, size_t dim) {
    size_t k;
    for (k = 0; k < dim; k++)
        if (a[k] < b[k] || a[k] > b[k]) return 0;
    return 1;
}

static void aggi_run_krum(aggi_plot *p, const agg_real *const *rows, size_t n, size_t f) {
    const size_t most = agg_max_f(AGG_KRUM, n);
    const agg_desc d = agg_make_desc(AGG_KRUM, n, p->dim, f < most ? f : most);
    (void)agg_aggregate(&d, rows, p->result, p->scratch, p->scratch_size, NULL);
}

#define AGGI_HALVINGS 64

static void aggi_fang_krum(aggi_plot *p) {
    double large = aggi_fang_start(p);
    size_t k, step;
    aggi_run_krum(p, p->seen, p->seen_n, p->f);
    for (k = 0; k < p->dim; k++) {
        p->to[k] = -aggi_sign((double)p->result[k]);
        p->hidden[k] = 0;
    }
    for (step = 0; step < AGGI_HALVINGS; step++, large /= 2) {
        aggi_put(p, p->hidden, large);
        aggi_run_krum(p, p->rows, p->n, p->f);
        if (aggi_equal_rows(p->row, p->result, p->dim) || large * p->unit < 1e-5) break;
    }
}

/* ---- attacks that search */

#define AGGI_LINE_TRIES  16
#define AGGI_SWEEP_TRIES 40
#define AGGI_ANGLE_TRIES 10
#define AGGI_CLIMB_TRIES 200
#define AGGI_CLIMB_ROWS  16
#define AGGI_MIMIC_TRIES 32

/* distance of what the rule makes of m + t to */
static double aggi_line_value(aggi_plot *p, double t) {
    aggi_put(p, p->mean, t);
    (void)aggi_try(p);
    (void)aggi_keep(p, p->distance);
    return p->distance;
}

/* from 0: on by delta while it gets better, delta twice as large each time; then to and fro, delta
   0.8 times as large each time */
static void aggi_search_line(aggi_plot *p, double delta) {
    double best_t = 0, best = aggi_line_value(p, 0), t = 0, value;
    int tries = 1, growing = 1;
    for (; tries < AGGI_LINE_TRIES; tries++) {
        if (growing || t < best_t)
            t = growing ? best_t + delta : t + delta;
        else
            t = t - delta > 0 ? t - delta : best_t / 2;
        value = aggi_line_value(p, t);
        growing = growing && value > best;
        delta *= growing ? 2 : 0.8;
        if (!(value > best)) continue;
        best = value;
        best_t = t;
    }
}

static void aggi_line_search(aggi_plot *p) {
    const size_t asked = (size_t)p->desc->direction;
    size_t d;
    for (d = 1; d < AGG_DIRECTION_COUNT; d++) {
        const double norm = asked && d != asked ? 0 : aggi_aim(p, d);
        if (norm > 0) aggi_search_line(p, d == AGG_DIRECTION_SIGN ? p->mean_norm : norm);
    }
    if (p->kept_value < 0) (void)aggi_line_value(p, 0);
    aggi_put_row(p, p->kept);
}

/* m + t to for t = 0.03 .. 30 times the usual honest norm, every so many of 40 */
static void aggi_sweep(aggi_plot *p, int every) {
    double t = 0.03 * p->typical;
    int i;
    for (i = 0; i < AGGI_SWEEP_TRIES; i++, t *= 1.1937766417144364) { /* 1000^(1/39) */
        if (i % every) continue;
        aggi_put(p, p->mean, t);
        (void)aggi_try(p);
        (void)aggi_keep(p, -p->cosine);
    }
}

static void aggi_opt_cos(aggi_plot *p) {
    const size_t asked = (size_t)p->desc->direction;
    size_t d;
    memset(p->to, 0, p->dim * sizeof *p->to);
    aggi_put(p, p->mean, 0);
    (void)aggi_keep(p, -3);
    for (d = 1; d < AGG_DIRECTION_COUNT; d++)
        if ((!asked || d == asked) && aggi_aim(p, d) > 0) aggi_sweep(p, 1);
    aggi_put_row(p, p->kept);
}

/* before = what the rule makes of the honest mean in the adversaries' places */
static void aggi_look_before(aggi_plot *p) {
    size_t k;
    memset(p->to, 0, p->dim * sizeof *p->to);
    aggi_put(p, p->mean, 0);
    memcpy(p->result, p->row, p->dim * sizeof *p->row);
    (void)aggi_try(p);
    for (k = 0; k < p->dim; k++) p->before[k] = (double)p->result[k] / p->unit;
}

/* how far the aggregate turns away from before: x is as long as `size` usual honest rows and has
   the direction of before^ + t to, before^ being in hidden */
static double aggi_turn(aggi_plot *p, double t, double size) {
    double norm = 0, unused;
    size_t k;
    for (k = 0; k < p->dim; k++) norm += aggi_squared(p->hidden[k] + t * p->to[k]);
    norm = norm > 0 ? aggi_root0(norm) : 1;
    for (k = 0; k < p->dim; k++) {
        const double x = (p->hidden[k] + t * p->to[k]) / norm;
        p->row[k] = (agg_real)aggi_clamp(size * p->typical * x * p->unit);
    }
    return aggi_try(p) > -2 ? -aggi_compare_result(p, p->before, &unused) : -2;
}

/* at[0]: L, at[1]: the size. Stage 1 moves L, stage 2 the size, by +-l as the angle rises or falls,
   l a third each time. */
static void aggi_normalised(aggi_plot *p) {
    const agg_attack_direction way = p->desc->direction;
    const double root = aggi_root0((double)p->dim);
    double at[2] = {1, 1}, last = -2, value, l;
    int i, stage;
    aggi_look_before(p);
    (void)aggi_keep(p, -3);
    memcpy(p->hidden, p->before, p->dim * sizeof *p->hidden);
    (void)aggi_make_unit(p->hidden, p->dim, 0);
    if (!(aggi_aim(p, (size_t)(way ? way : AGG_DIRECTION_SIGN)) > 0)) return;
    for (stage = 0; stage < 2; stage++) {
        for (i = 0, l = 1; i < AGGI_ANGLE_TRIES; i++, l /= 3) {
            value = aggi_turn(p, at[0] * root, at[1]);
            (void)aggi_keep(p, value);
            at[stage] = aggi_max(0, at[stage] + (value > last ? l : -l));
            last = value;
        }
    }
    aggi_put_row(p, p->kept);
}

/* ---- attacks with a past */

/* -1 times the part of (1, 1, ..) that is orthogonal to 0.9 last + 0.1 m, from the last aggregate:
   sin 270 degrees is -1 and cos 270 degrees is 0 */
static void aggi_rop(aggi_plot *p) {
    const agg_real *last = p->desc->last;
    const double ones = aggi_root0((double)p->dim);
    double sum = 0, squares;
    size_t k;
    if (last && !aggi_all_finite(last, p->dim)) last = NULL;
    for (k = 0; k < p->dim; k++) {
        p->before[k] = last ? (double)last[k] / p->unit : p->mean[k];
        p->hidden[k] = 0.9 * p->before[k] + 0.1 * p->mean[k];
        sum += p->hidden[k];
    }
    squares = aggi_norm2(p->hidden, p->dim);
    for (k = 0; k < p->dim; k++) p->to[k] = squares > 0 ? sum / squares * p->hidden[k] - 1 : -1;
    if (!(aggi_make_unit(p->to, p->dim, ones) > 0)) memset(p->to, 0, p->dim * sizeof *p->to);
    aggi_put(p, p->before, aggi_strength(p->desc) / p->unit);
}

static double aggi_recall(const aggi_plot *p, size_t i) {
    double v;
    memcpy(&v, (const unsigned char *)p->desc->memory + i * sizeof v, sizeof v);
    return v;
}

static void aggi_remember(const aggi_plot *p, size_t i, double v) {
    memcpy((unsigned char *)p->desc->memory + i * sizeof v, &v, sizeof v);
}

/* Memory is rounds, mu, z: 1 + 2 dim doubles. hidden = mu, before = z; returns the rounds, 0: there
   were none, or what is there cannot be. */
static double aggi_recall_rounds(aggi_plot *p) {
    const double rounds = aggi_recall(p, 0);
    size_t k;
    for (k = 0; k < p->dim; k++) {
        p->hidden[k] = aggi_recall(p, 1 + k) / p->unit;
        p->before[k] = aggi_recall(p, 1 + p->dim + k);
    }
    if (aggi_within(rounds, 1, 1e15) && aggi_finite(aggi_norm2(p->hidden, p->dim)) &&
        aggi_finite(aggi_norm2(p->before, p->dim)))
        return rounds;
    for (k = 0; k < p->dim; k++) {
        p->hidden[k] = 0;
        p->before[k] = aggi_normal_quantile(aggi_uniform(&p->desc->rng));
    }
    return 0;
}

/* z . (row i - mu) */
static double aggi_score_along(const aggi_plot *p, size_t i) {
    double sum = 0;
    size_t k;
    for (k = 0; k < p->dim; k++)
        sum += p->before[k] * ((double)p->seen[i][k] / p->unit - p->hidden[k]);
    return sum;
}

/* Oja's step: z and mu move on by 1/(1+t) */
static void aggi_turn_oja(aggi_plot *p, double t) {
    const double old = t / (1 + t), now = 1 / (1 + t);
    size_t i, k;
    for (k = 0; k < p->dim; k++) p->hidden[k] = old * p->hidden[k] + now * p->mean[k];
    for (i = 0; i < p->seen_n; i++) p->key[i] = aggi_score_along(p, i);
    for (k = 0; k < p->dim; k++) {
        p->to[k] = 0;
        for (i = 0; i < p->seen_n; i++)
            p->to[k] += p->key[i] * ((double)p->seen[i][k] / p->unit - p->hidden[k]);
    }
    if (!(aggi_make_unit(p->to, p->dim, 0) > 0)) return;
    for (k = 0; k < p->dim; k++) p->before[k] = old * p->before[k] + now * p->to[k];
    (void)aggi_make_unit(p->before, p->dim, 0);
}

static void aggi_online_mimic(aggi_plot *p) {
    const double rounds = aggi_recall_rounds(p);
    size_t i, best = 0;
    aggi_turn_oja(p, rounds);
    for (i = 0; i < p->seen_n; i++) p->key[i] = aggi_score_along(p, i);
    for (i = 1; i < p->seen_n; i++)
        if (p->key[i] > p->key[best]) best = i;
    aggi_put_row(p, p->seen[best]);
    aggi_remember(p, 0, rounds + 1);
    for (i = 0; i < p->dim; i++) {
        aggi_remember(p, 1 + i, p->hidden[i] * p->unit);
        aggi_remember(p, 1 + p->dim + i, p->before[i]);
    }
}

static void aggi_worst(aggi_plot *p);

/* A row for each attack, in the order of the enum: number makes number k of what is sent, after
   prepare, if there is one; or make makes p->row as a whole. A new one is a name at the end of
   agg_attack_kind, before worst's, a row and a function. */
typedef struct aggi_attack {
    agg_attack_kind id;
    int reads;
    const char *name;
    double strength; /* by default; AGGI_MAJORITY: aggi_alie_z() */
    double (*number)(aggi_adversary *a, size_t k);
    void (*prepare)(aggi_adversary *a);
    void (*make)(aggi_plot *p);
} aggi_attack;

/* clang-format off */

static const aggi_attack aggi_attacks[] = {
    {AGG_ATTACK_SIGN_FLIP, AGGI_OWN,
     "sign flipping", 2.5,
     aggi_flip, NULL, NULL},
    {AGG_ATTACK_NOISE, AGGI_OWN | AGGI_RANDOM,
     "random noise", 3.0,
     aggi_noise, aggi_prepare_range, NULL},
    {AGG_ATTACK_GAUSSIAN, AGGI_OWN | AGGI_RANDOM,
     "Gaussian noise", 1.0,
     aggi_gauss, NULL, NULL},
    {AGG_ATTACK_ZERO, 0,
     "zero", 1.0,
     aggi_zero, NULL, NULL},
    {AGG_ATTACK_IPM, AGGI_HONEST,
     "inner product", 0.5,
     aggi_ipm, NULL, NULL},
    {AGG_ATTACK_ALIE, AGGI_HONEST | AGGI_MAJORITY,
     "ALIE", 0.0,
     aggi_alie, NULL, NULL},
    {AGG_ATTACK_MIMIC, AGGI_TARGET,
     "mimic", 1.0,
     aggi_mimic, NULL, NULL},
    {AGG_ATTACK_INF, AGGI_CONVICTS,
     "Inf", 1.0,
     aggi_inf, NULL, NULL},
    {AGG_ATTACK_NAN, AGGI_CONVICTS,
     "NaN", 1.0,
     aggi_nan, NULL, NULL},
    {AGG_ATTACK_LINE_SEARCH, AGGI_HONEST | AGGI_UNDER_FIRE,
     "line search", 1.0,
     NULL, NULL, aggi_line_search},
    {AGG_ATTACK_OPT_COS, AGGI_HONEST | AGGI_UNDER_FIRE,
     "opt-cos", 1.0,
     NULL, NULL, aggi_opt_cos},
    {AGG_ATTACK_MIN_MAX, AGGI_HONEST,
     "Min-Max", 1.0,
     NULL, NULL, aggi_min_max},
    {AGG_ATTACK_MIN_SUM, AGGI_HONEST,
     "Min-Sum", 1.0,
     NULL, NULL, aggi_min_sum},
    {AGG_ATTACK_FANG_TRIM, AGGI_HONEST | AGGI_RANDOM,
     "Fang trim", 2.0,
     aggi_fang_trim, NULL, NULL},
    {AGG_ATTACK_FANG_KRUM, AGGI_HONEST | AGGI_MINORITY,
     "Fang Krum", 1.0,
     NULL, NULL, aggi_fang_krum},
    {AGG_ATTACK_NORMALISED, AGGI_HONEST | AGGI_UNDER_FIRE,
     "normalised attack", 1.0,
     NULL, NULL, aggi_normalised},
    {AGG_ATTACK_MDA_FOOLING, AGGI_HONEST | AGGI_MINORITY,
     "MDA fooling", 1.0,
     NULL, NULL, aggi_mda_fooling},
    {AGG_ATTACK_AVG_ZERO, AGGI_HONEST | AGGI_CROWD,
     "mean to zero", 1.0,
     aggi_avg_zero, NULL, NULL},
    {AGG_ATTACK_LARGE_NOISE, AGGI_RANDOM,
     "large noise", 1000.0,
     aggi_large_noise, NULL, NULL},
    {AGG_ATTACK_PARTIAL_DROP, AGGI_OWN | AGGI_RANDOM,
     "partial drop", 0.3,
     aggi_partial_drop, aggi_prepare_drop, NULL},
    {AGG_ATTACK_ROP, AGGI_HONEST | AGGI_MAJORITY,
     "ROP", 0.0,
     NULL, NULL, aggi_rop},
    {AGG_ATTACK_ONLINE_MIMIC, AGGI_HONEST | AGGI_RANDOM | AGGI_REMEMBERS,
     "online mimic", 1.0, NULL, NULL, aggi_online_mimic},
    {AGG_ATTACK_ANTI_CGE, AGGI_HONEST | AGGI_MINORITY,
     "anti-CGE", 1.0,
     NULL, NULL, aggi_anti_cge},
    {AGG_ATTACK_BLIND_IPM, AGGI_OWN,
     "blind inner product", 1.0,
     aggi_blind_ipm, aggi_prepare_blind, NULL},
    {AGG_ATTACK_WORST, AGGI_HONEST | AGGI_UNDER_FIRE,
     "worst", 1.0,
     NULL, NULL, aggi_worst},
};
typedef char
    aggi_every_attack[sizeof aggi_attacks / sizeof *aggi_attacks == AGG_ATTACK_COUNT ? 1 : -1];

/* clang-format on */

AGG_API const char *agg_attack_name(agg_attack_kind kind) {
    return (unsigned)kind < AGG_ATTACK_COUNT ? aggi_attacks[kind].name : "unknown attack";
}

/* does it look at the honest rows? */
static int aggi_reads_rows(int reads, const agg_real *own) {
    return (reads & (AGGI_HONEST | AGGI_TARGET)) || ((reads & AGGI_OWN) && !own);
}

/* How many deviations an adversary may stray so that, with the adversaries' help, it still looks
   like a majority: of n-f honest rows n/2+1-f must be farther out. Baruch et al. 2019. */
static double aggi_alie_z(size_t n, size_t f) {
    const double honest = (double)(n - f), needed = (double)(n / 2 + 1 - f);
    return aggi_normal_quantile((honest - needed) / honest);
}

static double aggi_strength(const agg_attack_desc *a) {
    const aggi_attack *kind = &aggi_attacks[a->kind];
    if (a->strength != 0) return a->strength;
    return kind->reads & AGGI_MAJORITY ? aggi_alie_z(aggi_total(a), aggi_bad(a)) : kind->strength;
}

static int aggi_all_there(const agg_real *const *rows, size_t n) {
    size_t i;
    for (i = 0; rows && i < n; i++)
        if (!rows[i]) return 0;
    return rows && n;
}

/* are n and f what the attack needs? */
static int aggi_counts_fit(const agg_attack_desc *a, int reads) {
    const size_t n = aggi_total(a), f = aggi_bad(a);
    const int tries = aggi_attacks[a->kind].make && a->rule;
    if ((reads & AGGI_MAJORITY) && a->strength == 0 && (!n || f > (n - 1) / 2)) return 0;
    if (((reads & AGGI_CROWD) || tries) && (!f || f >= n)) return 0;
    return !(reads & AGGI_MINORITY) || (f && f <= (n ? n - 1 : 0) / 2);
}

/* the rule as the adversary tries it: without the server's jobs and random numbers, nobody late */
static agg_desc aggi_rule_copy(const agg_attack_desc *a) {
    agg_desc d = *a->rule;
    const size_t f = aggi_bad(a);
    memset(&d.jobs, 0, sizeof d.jobs);
    d.rng = a->rng;
    d.late = NULL;
    if (f < d.n) d.pivot %= d.n - f;
    return d;
}

/* can what the attack asks of the rule be had? */
static agg_status aggi_rule_valid(const agg_attack_desc *a, size_t dim) {
    const aggi_attack *kind = &aggi_attacks[a->kind];
    aggi_complaint unsaid;
    agg_desc d;
    if (!kind->make || !a->rule) return kind->reads & AGGI_UNDER_FIRE ? AGG_ERR_ARG : AGG_OK;
    if (a->rule->dim != dim || (a->n && a->n != a->rule->n)) return AGG_ERR_ARG;
    d = aggi_rule_copy(a);
    return aggi_validate(&d, &unsaid);
}

static agg_status aggi_attack_valid(const agg_attack_desc *a, const agg_real *const *honest,
                                    size_t honest_n, size_t dim, const agg_real *own,
                                    const agg_real *out) {
    agg_status rule;
    int reads;
    if (!a || !out || !dim || (unsigned)a->kind >= AGG_ATTACK_COUNT || !aggi_finite(a->strength) ||
        (unsigned)a->direction >= AGG_DIRECTION_COUNT)
        return AGG_ERR_ARG;
    reads = aggi_attacks[a->kind].reads;
    if (aggi_reads_rows(reads, own) && !aggi_all_there(honest, honest_n)) return AGG_ERR_ARG;
    if ((reads & AGGI_TARGET) && a->target >= honest_n) return AGG_ERR_ARG;
    if ((reads & AGGI_REMEMBERS) && !a->memory) return AGG_ERR_ARG;
    rule = aggi_rule_valid(a, dim);
    if (rule != AGG_OK) return rule;
    if (!aggi_counts_fit(a, reads)) return AGG_ERR_BOUND;
    return (reads & AGGI_RANDOM) && !a->rng.next ? AGG_ERR_RNG : AGG_OK;
}

static void aggi_look(aggi_adversary *a, int reads, size_t k) {
    const double n = (double)a->honest_n;
    double sum = 0, squares = 0;
    size_t i;
    a->deviation = 0;
    if ((reads & AGGI_HONEST) || ((reads & AGGI_OWN) && !a->own)) {
        for (i = 0; i < a->honest_n; i++) sum += (double)a->honest[i][k] / n;
        for (i = 0; i < a->honest_n; i++)
            squares += aggi_squared((double)a->honest[i][k] - sum) / n;
        a->deviation = aggi_root0(squares);
    }
    a->mean = sum;
    a->mine = a->own ? (double)a->own[k] : sum;
}

/* out, number by number */
static void aggi_make_numbers(aggi_adversary *a, agg_real *out) {
    const aggi_attack *kind = &aggi_attacks[a->desc->kind];
    size_t k;
    a->s = aggi_strength(a->desc);
    a->size = 0;
    if (kind->prepare) kind->prepare(a);
    for (k = 0; k < a->dim; k++) {
        aggi_look(a, kind->reads, k);
        out[k] = (agg_real)kind->number(a, k);
    }
}

static aggi_adversary aggi_adversary_make(const agg_attack_desc *a, const agg_real *const *honest,
                                          size_t honest_n, size_t dim, const agg_real *own) {
    aggi_adversary adversary;
    memset(&adversary, 0, sizeof adversary);
    adversary.desc = a;
    adversary.honest = honest;
    adversary.own = own;
    adversary.honest_n = honest_n;
    adversary.dim = dim;
    return adversary;
}

/* bytes for the rules that a plot runs: the one under attack, Krum and MDA */
static size_t aggi_plot_rules(const aggi_plot *p, size_t honest_n) {
    const agg_desc krum = agg_make_desc(AGG_KRUM, p->n > honest_n ? p->n : honest_n, p->dim, 0);
    const agg_desc mda = agg_make_desc(AGG_MDA, honest_n, p->dim, honest_n - 1);
    aggi_call c; /* less 1: what does not fit a size_t, 0, becomes the largest there is */
    const size_t first = agg_scratch_size(&krum) - 1, second = aggi_begin(&c, &mda, NULL, 0) - 1;
    const size_t own = p->rule.n ? agg_scratch_size(&p->rule) - 1 : 0;
    const size_t larger = first > second ? first : second, most = own > larger ? own : larger;
    return most + (most != (size_t)-1);
}

/* Lays a plot out in scratch; NULL: only counts. Returns the bytes needed, 0 if they do not fit a
   size_t. */
static size_t aggi_plot_begin(aggi_plot *p, const agg_attack_desc *a, size_t honest_n, size_t dim) {
    aggi_arena arena = aggi_arena_make(a->scratch, a->scratch_size);
    memset(p, 0, sizeof *p);
    p->desc = a;
    p->dim = dim;
    p->n = aggi_total(a);
    p->f = aggi_bad(a);
    if (a->rule) p->rule = aggi_rule_copy(a);
    p->scratch_size = aggi_plot_rules(p, honest_n);
    p->mean = aggi_take_f64(&arena, dim);
    p->deviation = aggi_take_f64(&arena, dim);
    p->to = aggi_take_f64(&arena, dim);
    p->hidden = aggi_take_f64(&arena, dim);
    p->before = aggi_take_f64(&arena, dim);
    p->row = aggi_take_real(&arena, dim);
    p->kept = aggi_take_real(&arena, dim);
    p->best = aggi_take_real(&arena, dim);
    p->result = aggi_take_real(&arena, dim);
    p->seen = aggi_take_rows(&arena, honest_n);
    p->team = aggi_take_rows(&arena, honest_n);
    p->rows = aggi_take_rows(&arena, p->n);
    p->key = aggi_take_f64(&arena, honest_n);
    p->item = (aggi_item *)aggi_take(&arena, honest_n, 2 * sizeof *p->item);
    p->scratch = aggi_take(&arena, p->scratch_size, 1);
    return aggi_arena_size(&arena);
}

/* mean, deviation and usual norm of the rows seen */
static void aggi_plot_measure(aggi_plot *p) {
    const double n = (double)p->seen_n;
    size_t i, k;
    for (k = 0; k < p->dim; k++) {
        double sum = 0, squares = 0;
        for (i = 0; i < p->seen_n; i++) sum += (double)p->seen[i][k] / p->unit / n;
        for (i = 0; i < p->seen_n; i++)
            squares += aggi_squared((double)p->seen[i][k] / p->unit - sum) / n;
        p->mean[k] = sum;
        p->deviation[k] = aggi_root0(squares);
    }
    p->mean_norm = aggi_root0(aggi_norm2(p->mean, p->dim));
    aggi_rank_norms(p);
    p->typical = aggi_sum(p->key, p->seen_n) / n;
}

/* the rows that are finite, and what the rule gets; no if there is none */
static int aggi_plot_look(aggi_plot *p, const agg_real *const *honest, size_t honest_n) {
    const agg_real *last = p->desc->last;
    double least = aggi_pow2(-1000);
    size_t i;
    for (i = 0; i < honest_n; i++) {
        if (!aggi_all_finite(honest[i], p->dim)) continue;
        p->seen[p->seen_n++] = honest[i];
        least = aggi_unit(honest[i], p->dim, least);
    }
    if (!p->seen_n) return 0;
    if (last && aggi_all_finite(last, p->dim)) least = aggi_unit(last, p->dim, least);
    p->unit = least;
    aggi_plot_measure(p);
    if (!(p->typical > 0) && p->unit <= aggi_pow2(-1000)) p->unit = 1; /* zeros have no size */
    for (i = 0; i < p->n; i++) p->rows[i] = i < p->n - p->f ? p->seen[i % p->seen_n] : p->row;
    return 1;
}

/* one attack, from the start; the row is in p->row */
static void aggi_plot_make(aggi_plot *p) {
    const aggi_attack *kind = &aggi_attacks[p->desc->kind];
    aggi_adversary eye;
    p->center = p->mean;
    p->kept_value = -4;
    memcpy(p->team, p->seen, p->seen_n * sizeof *p->team);
    p->team_n = p->seen_n;
    if (kind->make) {
        kind->make(p);
        return;
    }
    eye = aggi_adversary_make(p->desc, p->seen, p->seen_n, p->dim, p->own);
    aggi_make_numbers(&eye, p->row);
}

/* ---- the strongest */

/* every attack that can be tried with what is known */
static void aggi_worst_kinds(aggi_plot *p, agg_attack_desc *one) {
    int kind;
    for (kind = 0; kind < AGG_ATTACK_WORST; kind++) {
        one->kind = (agg_attack_kind)kind;
        if ((aggi_attacks[kind].reads & (AGGI_CONVICTS | AGGI_REMEMBERS)) ||
            aggi_attack_valid(one, p->seen, p->seen_n, p->dim, p->own, p->row) != AGG_OK)
            continue;
        aggi_plot_make(p);
        (void)aggi_try(p);
    }
}

/* best + t to */
static int aggi_step_from_best(aggi_plot *p, double t) {
    const double was = p->best_value;
    size_t k;
    for (k = 0; k < p->dim; k++)
        p->row[k] = (agg_real)aggi_clamp(((double)p->best[k] / p->unit + t * p->to[k]) * p->unit);
    (void)aggi_try(p);
    return p->best_value > was;
}

/* From the best row to and fro along every direction in turn, and along the honest rows; a shorter
   step when none of them helps. */
static void aggi_climb(aggi_plot *p) {
    const size_t rows = p->seen_n < AGGI_CLIMB_ROWS ? p->seen_n : AGGI_CLIMB_ROWS;
    const size_t count = AGGI_TO_ROW + rows;
    double step = p->typical;
    size_t d = 1, failed = 0, tries;
    for (tries = 0; tries < AGGI_CLIMB_TRIES; tries += 2) {
        const int there = aggi_aim(p, d) > 0;
        if (there && (aggi_step_from_best(p, step) || aggi_step_from_best(p, -step))) {
            failed = 0;
            continue;
        }
        d = d + 1 < count ? d + 1 : 1;
        if (++failed < count) continue;
        failed = 0;
        step *= 0.4;
    }
}

static void aggi_worst(aggi_plot *p) {
    const agg_attack_desc *asked = p->desc;
    agg_attack_desc one = *asked;
    size_t i;
    one.strength = 0;
    one.target = 0;
    one.direction = AGG_DIRECTION_ALL;
    p->desc = &one;
    memcpy(p->best, p->seen[0], p->dim * sizeof *p->best); /* the rule may refuse every try */
    p->found.kind = AGG_ATTACK_WORST;
    aggi_worst_kinds(p, &one);
    one.kind = AGG_ATTACK_MIMIC;
    for (i = 0; i < p->seen_n && i < AGGI_MIMIC_TRIES; i++) {
        aggi_put_row(p, p->seen[i]);
        (void)aggi_try(p);
    }
    one.kind = AGG_ATTACK_WORST;
    p->center = p->mean;
    aggi_look_before(p);
    for (i = AGGI_TO_BEFORE; i < AGGI_TO_BEST; i++)
        if (aggi_aim(p, i) > 0) aggi_sweep(p, 2);
    aggi_climb(p);
    p->desc = asked;
    aggi_put_row(p, p->best);
}

/* out, as a whole */
static agg_status aggi_make_row(const agg_attack_desc *a, const agg_real *const *honest,
                                size_t honest_n, size_t dim, const agg_real *own, agg_real *out) {
    aggi_plot p;
    const size_t need = aggi_plot_begin(&p, a, honest_n, dim);
    if (!need) return AGG_ERR_SIZE;
    if (!a->scratch) return AGG_ERR_ARG;
    if (a->scratch_size < need) return AGG_ERR_SCRATCH;
    if ((aggi_attacks[a->kind].reads & AGGI_REMEMBERS) &&
        a->memory_size < agg_attack_memory_size(a, dim))
        return AGG_ERR_SCRATCH;
    p.own = own;
    p.best_value = -DBL_MAX;
    if (!aggi_plot_look(&p, honest, honest_n)) return AGG_ERR_ROWS;
    aggi_plot_make(&p);
    if (a->kind != AGG_ATTACK_WORST) {
        (void)aggi_try(&p);
        p.found.cosine = p.rule.n ? p.cosine : 0;
        p.found.distance = p.distance;
        p.found.kind = a->kind;
    }
    memcpy(out, p.row, dim * sizeof *out);
    if (a->outcome) *a->outcome = p.found;
    return AGG_OK;
}

AGG_API size_t agg_attack_scratch_size(const agg_attack_desc *a, size_t honest_n, size_t dim) {
    agg_attack_desc b;
    aggi_plot p;
    if (!a || (unsigned)a->kind >= AGG_ATTACK_COUNT || !aggi_attacks[a->kind].make) return 0;
    if (!honest_n || !dim || aggi_rule_valid(a, dim) != AGG_OK) return 0;
    b = *a;
    b.scratch = NULL;
    return aggi_plot_begin(&p, &b, honest_n, dim);
}

AGG_API size_t agg_attack_memory_size(const agg_attack_desc *a, size_t dim) {
    const size_t most = ((size_t)-1 / sizeof(double) - 1) / 2;
    if (!a || (unsigned)a->kind >= AGG_ATTACK_COUNT || dim > most) return 0;
    return aggi_attacks[a->kind].reads & AGGI_REMEMBERS ? (2 * dim + 1) * sizeof(double) : 0;
}

AGG_API agg_status agg_attack(const agg_attack_desc *a, const agg_real *const *honest,
                              size_t honest_n, size_t dim, const agg_real *own, agg_real *out) {
    const agg_status valid = aggi_attack_valid(a, honest, honest_n, dim, own, out);
    aggi_adversary adversary;
    if (valid != AGG_OK) return valid;
    if (aggi_attacks[a->kind].make) return aggi_make_row(a, honest, honest_n, dim, own, out);
    adversary = aggi_adversary_make(a, honest, honest_n, dim, own);
    aggi_make_numbers(&adversary, out);
    if (a->outcome) {
        memset(a->outcome, 0, sizeof *a->outcome);
        a->outcome->kind = a->kind;
    }
    return AGG_OK;
}

AGGI_END_CODE
#endif /* AGGREGATORS_IMPLEMENTATION */

/* CHANGELOG  the first number changes when your code may have to, the second when something is
   added or results get other bits, the third when neither. Both headers have one version.
   0.5.0 (2026-11) Eight rules that peers have: Aksel, DnC, FLTrust, SignGuard, GAS, winsorised
                   mean, sign vote, FedPG's filter; clipping to the median norm. Fifteen attacks
                   that optimise against a rule, remember or hide, and AGG_ATTACK_WORST, the
                   strongest of all; agg_attack_scratch_size, agg_attack_memory_size. desc.late: a
                   late row convicts nobody. agg_explain: what is wrong with a desc, in words.
                   agg_stages: a call in passes over slices, for rows in files or on other machines;
                   AGG_MORE, AGG_ERR_STAGES. agg_scratch_size() gives slightly larger sizes. New
                   last fields in agg_desc, agg_report and agg_attack_desc: zero them. AGG_ERR_RNG
                   also for rules that draw. All rules there were keep their bits.
   0.4.0 (2026-11) What an adversary can make you wait: see TIME. GM proves a point in one pass over
                   the rows, or three, where clusters at several scales took up to thirty; a giant
                   hidden in a row costs a block of distances, not all of them; denormals and a NaN
                   at the end of a row cost less than the rows themselves. Means of 50 rows and
                   more take a fifth less. agg_scratch_size() gives slightly larger sizes. Rows at
                   several scales, or with giants hidden in them, may get other last bits from
                   rules that take distances; all others keep theirs.
   0.3.0 (2026-11) GM: the gap is relative to the radius of a majority, not to the distances of
                   giants, so that AGG_OK implies lambda, and AGG_INEXACT keeps it too. Distances of
                   doubles that share a number of 1e168 and differ below 1e-140 are not 0 any more,
                   nor is agg_resilience() of such rows; ties stay ties at any scale. NaN is found
                   under clang's -fno-honor-nans and what is left of -ffast-math when parts are
                   taken back; /fp:fast is refused. Every call ends in every rounding mode. Giants,
                   ties and equal rows cost little more than other rows: see TIME.
                   desc.budget counts operations, not nodes, and CAF has one too; report.weight
                   costs columns half as much again, not 30 times. Distances of many rows from dot
                   products, columns in registers, CAF and SMEA by Lanczos, Bulyan by one sort: 1.3
                   to 100 times sooner. Sums of rows, of squares and of columns, and CAF's weights,
                   have other last bits (see ACCURACY, DISTANCES). agg_scratch_size() gives other
                   sizes, larger ones for distances and NNM. Enums have the size of an int with
                   -fshort-enums too. Compiles as clang-cl does, and after windows.h, complex.h and
                   X11; -std=c89 gets one error.
   0.2.0 (2026-11) The words of the field: adversaries and attacks, pre-aggregations. New names:
                   agg_samples -> agg_sample_complexity, agg_rule_order_optimal ->
                   agg_rule_is_order_optimal; AGG_RULE_LIST and AGG_ATTACK_LIST are gone (ask
                   agg_rule_name() and agg_attack_name()). New: agg_pre_name(). AGG_NO_DISPATCH
                   serves both headers. Square roots are correctly rounded: some results in double
                   have other last bits. agg_scratch_size() gives other sizes.
   0.1.0 (2026-11) first release: the rules of the paper and their peers, pre-aggregations, attacks,
                   reports. Refuses to compile where arithmetic is not IEEE's (-ffast-math,
                   -funsafe-math-optimizations, the i387).

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
