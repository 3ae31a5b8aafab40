/** All of these restore the sample operator, so they share its cluster. */
import '../crash.soak.test.ts';
import '../restarts.soak.test.ts';
import '../debug.test.ts';
