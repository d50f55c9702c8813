// Stands in for a header of Gloo that the wheel lacks: see fwd.h.
#include "gloo/fwd.h"
