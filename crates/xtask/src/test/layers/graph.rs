//! Circles in a directed graph.

/// Returns every set of nodes that reach each other, of at least two nodes (Tarjan's algorithm).
pub(super) fn circles(n_nodes: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut successors = vec![Vec::new(); n_nodes];
    for (from, to) in edges {
        successors[*from].push(*to);
    }
    let mut search =
        Search { successors, index: vec![None; n_nodes], low: vec![0; n_nodes], stack: Vec::new(), found: Vec::new() };
    for node in 0..n_nodes {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

struct Search {
    successors: Vec<Vec<usize>>,
    /// Order of the first visit.
    index: Vec<Option<usize>>,
    /// Earliest node on the stack that a node reaches.
    low: Vec<usize>,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn visit(&mut self, node: usize) -> usize {
        let index = self.index.iter().flatten().count();
        self.index[node] = Some(index);
        self.low[node] = index;
        self.stack.push(node);
        for next in self.successors[node].clone() {
            match self.index[next] {
                None => self.low[node] = self.low[node].min(self.visit(next)),
                Some(seen) if self.stack.contains(&next) => self.low[node] = self.low[node].min(seen),
                Some(_) => {}
            }
        }
        if self.low[node] == index {
            let at = self.stack.iter().position(|other| *other == node).unwrap_or_default();
            let mut circle = self.stack.split_off(at);
            if circle.len() > 1 {
                circle.sort_unstable();
                self.found.push(circle);
            }
        }
        self.low[node]
    }
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn nodes_that_reach_each_other_are_one_circle() {
        assert_eq!(circles(3, &[(0, 1), (1, 2)]), Vec::<Vec<usize>>::new());
        assert_eq!(circles(3, &[(0, 1), (1, 2), (2, 0)]), [[0, 1, 2]]);
        assert_eq!(circles(5, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (3, 4)]), [[2, 3], [0, 1]]);
        assert_eq!(circles(1, &[(0, 0)]), Vec::<Vec<usize>>::new(), "a file may use itself");
    }
}
