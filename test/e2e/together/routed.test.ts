/** All of these restore the sample operator, so they share its cluster and its SSH host. */
import '../route-refusals.test.ts';
import '../pod-webhook.soak.test.ts';
