/** All of these restore the operator on the hollow node, so they share its cluster. */
import '../api-faults.soak.test.ts';
import '../at-once.soak.test.ts';
import '../draining.test.ts';
import '../kills.soak.test.ts';
import '../refused-restore.test.ts';
import '../second-actor.soak.test.ts';
import '../suspended.test.ts';
