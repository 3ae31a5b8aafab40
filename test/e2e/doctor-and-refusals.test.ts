/** Both leave the sample operator as it was, so they share its cluster. */
import './on-one-cluster/doctor.ts';
import './on-one-cluster/refusals.ts';
