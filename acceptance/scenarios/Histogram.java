import java.util.*;

/** Lateness in a line. */
final class Histogram {
    private static final long[] EDGES = {1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000};

    /** How many came later than one edge and not later than the next, in ms; then median, 99th and greatest. */
    static String of(List<Long> late) {
        List<Long> ordered = new ArrayList<>(late);
        Collections.sort(ordered);
        StringBuilder line = new StringBuilder();
        long below = -1;
        for (long edge : EDGES) {
            long from = below, count = ordered.stream().filter(ms -> ms > from && ms <= edge).count();
            if (count > 0) line.append("<=").append(edge).append(':').append(count).append(' ');
            below = edge;
        }
        long last = below, count = ordered.stream().filter(ms -> ms > last).count();
        if (count > 0) line.append('>').append(last).append(':').append(count).append(' ');
        return line + String.format("(p50 %d, p99 %d, max %d)", at(ordered, 50), at(ordered, 99), ordered.get(ordered.size() - 1));
    }

    static long at(List<Long> ordered, int percent) { return ordered.get(Math.min(ordered.size() - 1, ordered.size() * percent / 100)); }
}
